/**
 * Decodes base64 that comes in pieces, and is strict: what it has decoded is, encoded again, the very same text. So a text
 * whose decoding was given up in the middle can be written out again from the bytes.
 */
import { bytesAsText } from '../json/patterns.ts'

const QUAD = 4
/** Letters of another alphabet, which the decoder of Node takes too. */
const FOREIGN = /[-_]/

export class Base64Reader {
  /** What is not decoded yet: fewer than four characters, or the last four with their padding. */
  rest = ''

  /** Returns the bytes of all groups of four that are complete; null = this is not base64, and nothing has changed. */
  read(text: Buffer): Buffer | null {
    const all = this.rest + bytesAsText(text)
    const padding = all.indexOf('=')
    const plain = padding < 0 ? all.length : padding
    const whole = plain - (plain % QUAD)
    if (all.length - whole > QUAD) return null
    const groups = all.slice(0, whole)
    const bytes = Buffer.from(groups, 'base64')
    if (bytes.length !== (whole / QUAD) * 3 || FOREIGN.test(groups)) return null
    this.rest = all.slice(whole)
    return bytes
  }

  /** No more text comes. Returns the bytes of the rest, which stays until `clear`; null = the text is not complete. */
  end(): Buffer | null {
    const bytes = Buffer.from(this.rest, 'base64')
    return bytes.toString('base64') === this.rest ? bytes : null
  }

  clear(): void {
    this.rest = ''
  }
}
