#!/bin/bash
set -euo pipefail

cd /app
cat > lru.hpp <<'END'
#pragma once
#include <cstddef>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>

template <typename K, typename V>
class lru {
public:
    explicit lru(std::size_t capacity) : capacity_(capacity) {}

    void put(const K &key, V value) {
        if (capacity_ == 0) return;
        auto found = index_.find(key);
        if (found != index_.end()) {
            found->second->second = std::move(value);
            order_.splice(order_.begin(), order_, found->second);
            return;
        }
        if (order_.size() == capacity_) {
            index_.erase(order_.back().first);
            order_.pop_back();
        }
        order_.emplace_front(key, std::move(value));
        index_[key] = order_.begin();
    }

    std::optional<V> get(const K &key) {
        auto found = index_.find(key);
        if (found == index_.end()) return std::nullopt;
        order_.splice(order_.begin(), order_, found->second);
        return found->second->second;
    }

    std::size_t size() const { return order_.size(); }

private:
    std::size_t capacity_;
    std::list<std::pair<K, V>> order_;
    std::unordered_map<K, typename std::list<std::pair<K, V>>::iterator> index_;
};
END
g++ -std=c++17 -Wall -Wextra -Werror demo.cpp -o /tmp/demo && /tmp/demo
