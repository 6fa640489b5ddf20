/** What a button does that is in no form: a refusal is said at the edge of the page. */
import { Refused } from '../base/ask.ts'
import { say } from '../base/page.ts'

export function act(work: () => Promise<unknown>): void {
  work().catch((error: unknown) => {
    if (!(error instanceof Refused)) throw error
    say(error.message, 'failed')
  })
}
