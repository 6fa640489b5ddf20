/** A store that tells what it was asked and what it answered. */
import type { Store } from '../../../lib/store/store.ts'

const TOLD = new Set(['lease', 'giveBack', 'settle', 'bury', 'register', 'recall'])

export function traced(store: Store, note: (text: string) => void): Store {
  return new Proxy(store, {
    get(target, name) {
      const method = target[name as keyof Store] as (...args: unknown[]) => Promise<unknown>
      if (!TOLD.has(String(name))) return method
      return async (...args: unknown[]) => {
        const call = `${String(name)} ${JSON.stringify(args)}`
        try {
          const answer = await method(...args)
          note(`${call} → ${JSON.stringify(answer) ?? 'done'}`)
          return answer
        } catch (error) {
          note(`${call} → ${error}`)
          throw error
        }
      }
    },
  })
}
