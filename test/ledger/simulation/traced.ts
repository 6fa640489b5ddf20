/** A store that tells what it was asked and what it answered. */
import type { Store } from '../../../lib/store/store.ts'
import { changed } from '../../support/store.ts'

type Call = (...args: unknown[]) => Promise<unknown>

export function traced(store: Store, note: (text: string) => void): Store {
  const told = (part: 'books' | 'holders', names: readonly string[]) => {
    const real = store[part] as unknown as Record<string, Call>
    return Object.fromEntries(
      names.map(name => [
        name,
        async (...args: unknown[]) => {
          const call = `${name} ${JSON.stringify(args)}`
          try {
            const answer = await real[name]?.(...args)
            note(`${call} → ${JSON.stringify(answer) ?? 'done'}`)
            return answer
          } catch (error) {
            note(`${call} → ${error}`)
            throw error
          }
        },
      ]),
    )
  }
  return changed(store, {
    books: told('books', ['lease', 'giveBack', 'settle', 'recall']),
    holders: told('holders', ['bury', 'register']),
  })
}
