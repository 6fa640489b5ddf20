/**
 * Answers for benches. A request with `[[sim prepared …]]` in it is answered in the usual way once. From then on the
 * same request gets the same bytes in one write, without being parsed. Pace, latency and errors do not apply, and the
 * books have such requests in their totals only.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Usage } from '../../lib/terms/records.ts'

export interface Prepared {
  head: Record<string, string>
  body: Buffer
  usage: Usage | null
}

const MARK = Buffer.from('[[sim prepared')
const LONGEST = 64 * 1024
const MOST = 64

export class PreparedAnswers {
  readonly #known = new Map<string, Prepared>()

  /** Returns what identifies the request; null = it is not marked so. */
  keyOf(req: IncomingMessage, body: Buffer): string | null {
    if (body.length > LONGEST || !body.includes(MARK)) return null
    return `${req.url}\n${body.toString('latin1')}`
  }

  get(key: string): Prepared | undefined {
    return this.#known.get(key)
  }

  put(key: string, prepared: Prepared): void {
    if (this.#known.size >= MOST) this.#known.clear()
    this.#known.set(key, prepared)
  }
}

export function sendPrepared(res: ServerResponse, { head, body }: Prepared): void {
  res.writeHead(200, head)
  res.end(body)
}
