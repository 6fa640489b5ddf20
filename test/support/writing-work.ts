/** Work for the thread of exports that tries to change the store. */
import type { Store } from '../../lib/store/store.ts'

export default async function* (store: Store): AsyncGenerator<string> {
  await store.ping()
  yield 'it was written'
}
