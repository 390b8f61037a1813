#include "/app/lru.hpp"
#include <cassert>
#include <memory>
#include <string>

struct counted {
    int value;
    std::shared_ptr<int> hold;
};

int main() {
    lru<std::string, int> words(2);
    words.put("a", 1);
    words.put("b", 2);
    assert(words.get("a").value() == 1);
    words.put("c", 3);
    assert(!words.get("b") && words.get("a") && words.get("c") && words.size() == 2);
    words.put("a", 10);
    words.put("d", 4);
    assert(words.get("a").value() == 10 && !words.get("c"));

    lru<int, int> none(0);
    none.put(1, 1);
    none.put(2, 2);
    assert(none.size() == 0 && !none.get(1));

    lru<int, counted> many(100);
    auto hold = std::make_shared<int>(0);
    for (int i = 0; i < 10000; i++) many.put(i, {i, hold});
    assert(many.size() == 100 && hold.use_count() == 101);
    for (int i = 0; i < 10000; i++) assert(many.get(i).has_value() == (i >= 9900));

    lru<int, int> same(3);
    for (int i = 0; i < 10; i++) same.put(1, i);
    assert(same.size() == 1 && same.get(1).value() == 9);
}
