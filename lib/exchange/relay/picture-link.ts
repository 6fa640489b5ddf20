/**
 * One picture of an answer on its way to a link. It is decoded and written while its text comes. When it cannot be kept,
 * its text goes to the client after all: what is in the file is encoded again, and the rest passes as it comes.
 */
import type { PictureDraft } from '../pictures/draft.ts'
import { Base64Reader } from '../../protocols/pictures/encoded.ts'

/** What the client is told. `tell` resolves when the client has room for more. */
export interface Told {
  tell(bytes: Buffer): Promise<void> | null
}

/** How many bytes of the file are encoded at once: groups of three, so that no padding comes in between. */
const ENCODED_BYTES = 48 * 1024
const QUOTE = Buffer.from('"')

export class NotBase64 extends Error {
  override name = 'NotBase64'
}

export class PictureLink {
  readonly #asIs: Buffer
  readonly #linked: Buffer
  readonly #draft: PictureDraft
  readonly #base64 = new Base64Reader()
  /** Why the picture stays in the answer; null = it is to be a link. */
  failure: unknown = null

  /** What stands before the text of the picture, with its quote, and what stands before a link in its place. */
  constructor(asIs: Buffer, linked: Buffer, draft: PictureDraft) {
    this.#asIs = asIs
    this.#linked = linked
    this.#draft = draft
  }

  /** Takes some of its text. `raw`: as it stands in the answer; `text`: without escapes. */
  async add(raw: Buffer, text: Buffer, client: Told): Promise<void> {
    const before = this.#base64.rest
    const bytes = this.#base64.read(text)
    try {
      if (bytes === null) throw new NotBase64('the picture is not base64')
      if (bytes.length > 0) await this.#draft.write(bytes)
    } catch (error) {
      this.failure = error
      await this.#giveText(before, client)
      await client.tell(raw)
    }
  }

  /** Its text is whole. `urlOf`: the URL of a kept picture. True: the client was given a link. */
  async end(urlOf: (name: string) => string, client: Told): Promise<boolean> {
    try {
      const last = this.#base64.end()
      if (last === null) throw new NotBase64('the picture is not base64')
      if (last.length > 0) await this.#draft.write(last)
      this.#base64.clear()
      if (this.#draft.bytes > 0) {
        const url = urlOf(await this.#draft.keep())
        await client.tell(Buffer.concat([this.#linked, Buffer.from(JSON.stringify(url))]))
        return true
      }
    } catch (error) {
      this.failure = error
    }
    await this.#giveText(this.#base64.rest, client)
    await client.tell(QUOTE)
    return false
  }

  /** The answer has ended inside the picture. */
  async breakOff(client: Told): Promise<void> {
    this.failure = new NotBase64('the picture has no end')
    await this.#giveText(this.#base64.rest, client)
  }

  /** `rest`: what stands behind that which is in the file. */
  async #giveText(rest: string, client: Told): Promise<void> {
    await client.tell(this.#asIs)
    const buffer = Buffer.allocUnsafe(Math.min(ENCODED_BYTES, this.#draft.bytes))
    for (let at = 0; at < this.#draft.bytes; at += buffer.length) {
      const bytes = await this.#draft.read(buffer, at)
      await client.tell(Buffer.from(bytes.toString('base64')))
    }
    await client.tell(Buffer.from(rest))
    await this.#draft.discard()
  }

  discard(): Promise<void> {
    return this.#draft.discard()
  }
}
