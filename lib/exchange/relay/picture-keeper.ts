/**
 * Keeps the pictures of an answer, one after the other. It gets the answer in parts, and tells the client of each what there is to
 * tell: a link where a picture was kept, the picture itself where it could not be.
 */
import { NoRoom } from '../pictures/draft.ts'
import type { PicturePart } from '../../protocols/pictures/encoded.ts'
import type { ImageLinks } from '../../config/config.ts'
import type { Exchange } from '../record/exchange.ts'
import { linkTo } from '../record/request.ts'
import type { Services } from '../record/services.ts'
import { NotBase64, PictureLink, type Told } from './picture-link.ts'

const QUOTE = Buffer.from('"')

export class PictureKeeper {
  readonly #x: Exchange
  readonly #services: Services
  readonly #settings: ImageLinks
  readonly #told: Told
  #picture: PictureLink | null = null
  /** The last picture has become a link. */
  #linked = false
  /** The log has said of this answer that a picture was not kept. */
  #warned = false

  constructor(x: Exchange, services: Services, settings: ImageLinks, told: Told) {
    this.#x = x
    this.#services = services
    this.#settings = settings
    this.#told = told
  }

  /** Takes the next part; null = it is done with. */
  take(part: PicturePart): Promise<void> | null {
    switch (part.is) {
      case 'bytes':
        this.#told.tell(part.bytes) // what a slow client has yet to take is bounded by what is under way
        return null
      case 'begin':
        this.#linked = false
        this.#picture = new PictureLink(part.asIs, part.linked, this.#services.pictures.draft(this.#settings))
        return null
      case 'data':
        return this.#takeData(part.raw, part.text)
      case 'end':
        return this.#takeEnd()
      case 'either':
        this.#told.tell(this.#linked ? part.linked : part.asIs)
        return null
    }
  }

  #takeData(raw: Buffer, text: Buffer): Promise<void> | null {
    const picture = this.#picture as PictureLink
    if (picture.failure !== null) {
      this.#told.tell(raw)
      return null
    }
    return picture.add(raw, text, this.#told).then(() => this.#noteFailure(picture))
  }

  #takeEnd(): Promise<void> | null {
    const picture = this.#picture as PictureLink
    if (picture.failure === null) return this.#end(picture)
    this.#picture = null
    this.#told.tell(QUOTE)
    return null
  }

  async #end(picture: PictureLink): Promise<void> {
    this.#linked = await picture.end(name => linkTo(this.#x, name), this.#told)
    this.#picture = null
    if (this.#linked) this.#services.metrics.pictures.count('kept')
    this.#noteFailure(picture)
  }

  #noteFailure({ failure }: PictureLink): void {
    if (failure === null) return
    const { metrics, log } = this.#services
    metrics.pictures.count(
      failure instanceof NoRoom ? 'no_room' : failure instanceof NotBase64 ? 'not_base64' : 'failed',
    )
    if (this.#warned) return
    this.#warned = true
    log.warn({ id: this.#x.id, err: failure }, 'a picture was not kept, and stays in its answer as base64')
  }

  /** The answer has ended. What is left of a picture that is not whole goes to the client; null = nothing is. */
  end(): Promise<void> | null {
    return this.#picture?.failure === null ? this.#picture.breakOff(this.#told) : null
  }

  /** Forgets a picture that is not whole. */
  forget(): void {
    void this.#picture?.discard()
    this.#picture = null
  }
}
