/**
 * Writes an HTTP/1.1 request as bytes. A path or header with bytes that could end its line is refused, because the
 * upstream could read the rest as another request (request splitting).
 */
import type { Dispatcher } from 'undici'
import { HEADER_LINE } from '../base/header-line.ts'

/** A header or path cannot be sent. Nothing of the request was sent. */
export class BadRequest extends Error {
  override name = 'BadRequest'
  readonly code = 'BAD_REQUEST'
}

const PATH = /^\/[\x21-\x7e\x80-\xff]*$/
/** A body up to this size is copied behind the head, so that both are one buffer and one write. */
const JOINED_BYTES = 64 * 1024

/** `headers` is `[name, value, …]`, `body` one buffer or several. Throws BadRequest. */
export function requestBytes({ method, path, headers, body }: Dispatcher.DispatchOptions, host: string): Buffer[] {
  if (!PATH.test(path)) throw new BadRequest('the path cannot be sent')
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`
  const list = (headers ?? []) as string[]
  let sized = false
  for (let i = 0; i < list.length; i += 2) {
    const line = `${list[i]}: ${list[i + 1]}`
    if (!HEADER_LINE.test(line)) throw new BadRequest(`the header ${JSON.stringify(list[i])} cannot be sent`)
    sized ||= list[i] === 'content-length'
    head += `${line}\r\n`
  }
  const parts = Buffer.isBuffer(body) ? [body] : ((body ?? []) as unknown as readonly Buffer[])
  let length = 0
  for (const part of parts) length += part.length
  head += sized ? '\r\n' : `content-length: ${length}\r\n\r\n`
  if (length > JOINED_BYTES) return [Buffer.from(head, 'latin1'), ...parts]
  const bytes = Buffer.allocUnsafe(head.length + length)
  let at = bytes.write(head, 'latin1')
  for (const part of parts) at += part.copy(bytes, at)
  return [bytes]
}
