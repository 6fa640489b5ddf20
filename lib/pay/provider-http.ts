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

export type ProviderFields = Readonly<Record<string, unknown>>

export interface Answer {
  /** The provider's name of why it did not do as it was asked; null = it did. */
  code: string | null
  fields: ProviderFields
  body: Buffer
}

/** How the answers of a provider to one question are told from those of others. */
export interface Form {
  /** What an error is named, as far as it has the provider's own form; null = it has not. */
  codeOf(fields: ProviderFields): string | null
  /** Errors after which the same request may do. */
  later?: ReadonlySet<string>
  /** Whether a success is what was asked for. Default: every object is. */
  fits?(fields: ProviderFields): boolean
}

/** 202 says that a request was taken and nothing was done yet. */
const DONE: ReadonlySet<number> = new Set([200, 201, 204])
const NO_CONTENT = 204
const [ERROR, FAULT] = [400, 500]
/** Too slow, too early, too many: the same request may do later. */
const LATER: ReadonlySet<number> = new Set([408, 425, 429])

/** Throws ProviderAway when it is nobody's word, or asks to come again. Whether it is signed is for the caller to check. */
export function readAnswer({ status, body }: Asked, { codeOf, later, fits }: Form): Answer {
  const fields = status === NO_CONTENT ? {} : parsed(body)
  const isError = status >= ERROR && status < FAULT
  const code = isError && fields !== null ? codeOf(fields) : null
  const away = (why: string): ProviderAway =>
    new ProviderAway(`status ${status}${code === null ? '' : `, ${code}`}: ${why}`)
  if (isError) {
    if (fields === null || code === null) throw away('no error in the form of the provider')
    if (LATER.has(status) || later?.has(code)) throw away('it asks to come again')
    return { code, fields, body }
  }
  if (!DONE.has(status)) throw away('no success')
  if (fields === null) throw away('no JSON object')
  if (fits !== undefined && !fits(fields)) throw away('an answer of another kind than was asked for')
  return { code, fields, body }
}

/** null = no JSON object. */
export function parsed(body: Buffer): ProviderFields | null {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as ProviderFields) : null
  } catch {
    return null
  }
}
