/**
 * The record of the answer that counts, as far as it has come. One for each relay: when another upstream is asked, what an
 * earlier one said is void. It is data, like the record of the exchange; asking fills it, telling and closing read it.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Lane } from '../../translate/ask.ts'
import type { Reading } from './reading.ts'

export class Answer {
  /** 0 = no head yet. */
  status = 0
  headers: IncomingHttpHeaders = {}
  /** null: no head yet, or one that is not 2xx, whose answer passes as it comes. */
  reading: Reading | null = null
  /** How its upstream was asked; null = in the client's own protocol. */
  lane: Lane | null = null
  /** Monotonic ms; -1 = no byte yet. */
  firstByteMs = -1
  /** Monotonic ms: of its last byte, or when we last held its upstream up. */
  lastByteMs = 0
  /** The upstream has said all it says, or was cut. */
  isDone = false

  void(): void {
    this.status = 0
    this.reading?.translation?.close()
    this.reading = null
    this.lane = null
    this.firstByteMs = -1
    this.isDone = false
  }
}
