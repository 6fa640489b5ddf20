/**
 * A line of HTTP/1.1 headers is `name: value`, one character per byte. Whoever writes one refuses what does not match: a line break inside
 * a value, for example, would begin another header or another request.
 */

const NAME = /^[\w!#$%&'*+\-.^`|~]+$/
const OTHER = /[^\t\x20-\x7e\x80-\xff]/

/** Names that were found to be right, which are few: nearly all stand in the program. */
const right = new Set<string>()
const MOST_NAMES = 500

/**
 * The line with its end; null = it cannot be sent. Name and value are looked at by themselves, because a line that was just put together is
 * copied before it can be searched.
 */
export function headerLine(name: string, value: string): string | null {
  if (!right.has(name)) {
    if (!NAME.test(name)) return null
    if (right.size < MOST_NAMES) right.add(name)
  }
  return OTHER.test(value) ? null : `${name}: ${value}\r\n`
}
