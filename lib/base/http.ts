/**
 * The module `node:http`. A normal import would read all of its exports, and some of these load Node's whole fetch
 * client when they are read, which takes a tenth of the time of a start. `getBuiltinModule` reads none.
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
