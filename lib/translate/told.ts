/** Counts what a writer has told its client, as the meter counts what an upstream sends. */
import { BYTES_PER_TOKEN, UNICODE_ESCAPE_BYTES } from '../protocols/count.ts'
import type { Literal } from './json/literal.ts'

const ESCAPES = /\\(?:u[0-9a-fA-F]{4}|.)/g

export class Told {
  #bytes = 0

  add(text: Literal): void {
    this.#bytes += text.length - 2
    if (text.includes('\\'))
      for (const [found] of text.matchAll(ESCAPES))
        this.#bytes -= found.length - (found.length === 2 ? 1 : UNICODE_ESCAPE_BYTES)
  }

  get tokens(): number {
    return Math.ceil(this.#bytes / BYTES_PER_TOKEN)
  }
}
