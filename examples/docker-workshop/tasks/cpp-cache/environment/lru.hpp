#pragma once
#include <list>
#include <unordered_map>
#include <utility>

template <typename K, typename V>
class lru {
public:
    explicit lru(std::size_t capacity) : capacity_(capacity) {}

    void put(const K &key, V value) {
        auto found = index_.find(key);
        if (found != index_.end()) {
            found->second->second = value;
            return;
        }
        if (order_.size() == capacity_) {
            index_.erase(order_.front().first);
            order_.pop_back();
        }
        order_.push_front({key, std::move(value)});
        index_[key] = order_.front();
    }

    std::optional<V> get(const K &key) const {
        auto found = index_.find(key);
        if (found == index_.end()) return std::nullopt;
        order_.splice(order_.end(), order_, found->second);
        return found->second->second;
    }

    std::size_t size() const { return order_.size(); }

private:
    std::size_t capacity_;
    std::list<std::pair<K, V>> order_;
    std::unordered_map<K, typename std::list<std::pair<K, V>>::iterator> index_;
};
