// The ordered map of stages/ordered_map.py, node for node: a weight-balanced tree of which nothing is ever changed.
// It counts the nodes that it visits, as stages/comparison/counting.py does, and remembers their keys until the next step.

class OrderedMap {
  constructor(counts) {
    this.counts = counts;
    this.visited = new Set();
  }

  visit(key) {
    this.counts.map_steps += 1;
    this.visited.add(key);
  }

  node(key, value, left, right) {
    return { key, value, left, right, size: sizeOf(left) + sizeOf(right) + 1 };
  }

  find(t, key) {
    if (!t) return undefined;
    this.visit(t.key);
    return key === t.key ? t.value : this.find(key < t.key ? t.left : t.right, key);
  }

  insert(t, key, z) {
    if (!t) return this.node(key, z, null, null);
    this.visit(t.key);
    if (key === t.key) return { ...t, value: t.value + z };
    if (key < t.key) return this.balance(t.key, t.value, this.insert(t.left, key, z), t.right);
    return this.balance(t.key, t.value, t.left, this.insert(t.right, key, z));
  }

  // The value at the key, and the map without it. The stages only ever take out the highest; a reader takes any.
  take(t, key) {
    this.visit(t.key);
    if (key === t.key && (!t.left || !t.right)) return [t.value, t.left || t.right];
    if (key === t.key) {
      const high = highest(t.left);
      const [value, rest] = this.take(t.left, high);
      return [t.value, this.balance(high, value, rest, t.right)];
    }
    const [value, rest] = this.take(key < t.key ? t.left : t.right, key);
    return [value, key < t.key ? this.balance(t.key, t.value, rest, t.right) : this.balance(t.key, t.value, t.left, rest)];
  }

  // The keys of both; where both have one, the sum.
  union(a, b) {
    if (a) this.visit(a.key);
    if (!a || !b) return a || b;
    if (b.size === 1) return this.insert(a, b.key, b.value);
    const [left, z, right] = this.split(b, a.key);
    const lower = this.union(a.left, left);
    return this.join(a.key, a.value + z, lower, this.union(a.right, right));
  }

  balance(key, value, left, right) {
    if (sizeOf(left) + sizeOf(right) > 1) {
      if (sizeOf(right) > 3 * sizeOf(left)) {
        const { left: inner, right: outer } = right;
        if (inner && sizeOf(inner) >= 2 * sizeOf(outer)) {
          const [low, high] = [inner.left, inner.right];
          return this.node(inner.key, inner.value, this.node(key, value, left, low), this.node(right.key, right.value, high, outer));
        }
        return this.node(right.key, right.value, this.node(key, value, left, inner), outer);
      }
      if (sizeOf(left) > 3 * sizeOf(right)) {
        const { left: outer, right: inner } = left;
        if (inner && sizeOf(inner) >= 2 * sizeOf(outer)) {
          const [low, high] = [inner.left, inner.right];
          return this.node(inner.key, inner.value, this.node(left.key, left.value, outer, low), this.node(key, value, high, right));
        }
        return this.node(left.key, left.value, outer, this.node(key, value, inner, right));
      }
    }
    return this.node(key, value, left, right);
  }

  join(key, value, left, right) {
    this.visit(key);
    if (sizeOf(right) > 3 * sizeOf(left)) {
      return this.balance(right.key, right.value, this.join(key, value, left, right.left), right.right);
    }
    if (sizeOf(left) > 3 * sizeOf(right)) {
      return this.balance(left.key, left.value, left.left, this.join(key, value, left.right, right));
    }
    return this.node(key, value, left, right);
  }

  split(t, key) {
    if (!t) return [null, 0, null];
    this.visit(t.key);
    if (key === t.key) return [t.left, t.value, t.right];
    if (key < t.key) {
      const [left, z, right] = this.split(t.left, key);
      return [left, z, this.join(t.key, t.value, right, t.right)];
    }
    const [left, z, right] = this.split(t.right, key);
    return [this.join(t.key, t.value, t.left, left), z, right];
  }
}

const sizeOf = (t) => (t ? t.size : 0);
const highest = (t) => (t.right ? highest(t.right) : t.key);
const entries = (t) => (t ? [...entries(t.left), [t.key, t.value], ...entries(t.right)] : []);
