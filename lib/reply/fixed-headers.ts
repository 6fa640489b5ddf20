import { HEADER_LINE } from '../base/header-line.ts'

/** Headers that are the same in many answers, as `node:http` takes them and as they stand in a head, made once. */
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
 * What an upstream sends may be a page, and a form on any other page can ask for it with a key of its own. The console lives on
 * the same origin, so no answer of the API may run anything there.
 */
export const NO_PAGE = new FixedHeaders([
  'x-content-type-options',
  'nosniff',
  'content-security-policy',
  "default-src 'none'; sandbox; frame-ancestors 'none'",
])
