#include "lru.hpp"
#include <iostream>
#include <string>

int main() {
    lru<std::string, int> cache(2);
    cache.put("one", 1);
    cache.put("two", 2);
    cache.get("one");
    cache.put("three", 3);
    std::cout << cache.size() << " " << cache.get("two").has_value() << " " << cache.get("one").value() << "\n";
}
