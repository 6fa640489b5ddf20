import { LRUCache } from 'lru-cache'

/**
 * The latest `max` entries. By itself the library reserves room for all of them at once, and every garbage collection
 * would walk through it: counted as sizes, the room follows what is there.
 */
export const latest = <K extends {}, V extends {}>(max: number, dispose?: (value: V, key: K) => void): LRUCache<K, V> =>
  new LRUCache<K, V>({ maxSize: max, sizeCalculation: () => 1, ...(dispose === undefined ? {} : { dispose }) })
