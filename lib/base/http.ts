/**
 * HTTP/1.1 as everybody here needs it: the module `node:http`, requests that others may read otherwise, and lines of headers. A normal import
 * of the module would read all of its exports, and some of these load Node's whole fetch client when they are read, which takes a tenth of
 * the time of a start. `getBuiltinModule` reads none.
 */
import type { IncomingMessage } from 'node:http'

export const http = process.getBuiltinModule('node:http')

/**
 * Whether two readers could find the end of this request in different places (RFC 9112, 6.1 and 6.3): its body has another coding of the
 * transfer than `chunked` alone, which Node would read as chunks, or has chunks in HTTP/1.0, which knows none. What a proxy in front of us
 * takes for a part of the body could then be another request.
 */
export function isFramedOddly({ headers, httpVersion }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding']
  return coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersion !== '1.1')
}

// --- a line of HTTP/1.1 headers is `name: value`, one character per byte. Whoever writes one refuses what does not match: a line break inside
// a value, for example, would begin another header or another request

const NAME = /^[\w!#$%&'*+\-.^`|~]+$/
/** A character that no value of a header may have. */
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/

/** Names that were found to be right, which are few, as nearly all stand in the program: each with what stands before its value. */
const beginnings = new Map<string, string>()
const MOST_NAMES = 500

/**
 * The line, which begins with the end of the one before it; null = it cannot be sent. Name and value are looked at by themselves, because a
 * line that was just put together is copied before it can be searched.
 */
export function headerLine(name: string, value: string): string | null {
  let beginning = beginnings.get(name)
  if (beginning === undefined) {
    if (!NAME.test(name)) return null
    beginning = `\r\n${name}: `
    if (beginnings.size < MOST_NAMES) beginnings.set(name, beginning)
  }
  return FORBIDDEN.test(value) ? null : beginning + value
}
