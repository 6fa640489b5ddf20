/** Requests to providers: bounded in time and size, without redirects. */
import { ProviderAway } from './method.ts'

const WITHIN_MS = 10_000
const MOST_BYTES = 4 * 2 ** 20

/** The answer is larger than it may be; the same question will be answered in the same way. */
export class AnswerTooLarge extends ProviderAway {
  override name = 'AnswerTooLarge'
}

export interface Asked {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

export interface Question {
  method: 'GET' | 'POST'
  headers?: Record<string, string>
  body?: string
  /** The most bytes of the answer. Default: 4 MiB. */
  mostBytes?: number
}

/** Throws ProviderAway when there is no whole answer. Whatever status it has, it is returned. */
export async function ask(url: string, question: Question): Promise<Asked> {
  const { request } = await import('undici')
  const { method, headers = {}, body = null, mostBytes = MOST_BYTES } = question
  try {
    const signal = AbortSignal.timeout(WITHIN_MS)
    const answer = await request(url, { method, headers, body, signal })
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > mostBytes) throw new AnswerTooLarge(`${new URL(url).host}: the answer is too large`)
      chunks.push(chunk)
    }
    return { status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) }
  } catch (error) {
    if (error instanceof AnswerTooLarge) throw error
    throw new ProviderAway(`${new URL(url).host}: ${(error as Error).message}`)
  }
}
