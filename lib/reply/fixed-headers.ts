/** Headers that are the same in many answers, made once: as `node:http` takes them, and as lines of a head. */
import { HEADER_LINE } from '../base/header-line.ts'

export class FixedHeaders {
  readonly pairs: readonly string[]
  readonly lines: string = ''

  /** `[name, value, …]` */
  constructor(pairs: readonly string[] = []) {
    this.pairs = pairs
    for (let i = 0; i < pairs.length; i += 2) {
      const line = `${pairs[i]}: ${pairs[i + 1]}`
      if (!HEADER_LINE.test(line)) throw new TypeError(`the header ${pairs[i]} cannot be sent`)
      this.lines += `${line}\r\n`
    }
  }
}

/**
 * What an upstream sends may be a page, and a form on any other page can make a browser ask for it. The console has the same
 * origin, so no answer of the API may run scripts there.
 */
export const NO_PAGE = new FixedHeaders([
  'x-content-type-options',
  'nosniff',
  'content-security-policy',
  "default-src 'none'; sandbox; frame-ancestors 'none'",
])
