/** The places of an embeddings request's body in which something matters. */
import type { Draft } from '../draft.ts'
import * as media from '../media-readers.ts'
import { Place } from '../places.ts'
import * as read from '../readers.ts'
import { textOrPicture } from './texts.ts'

/** A text, texts, tokens, or lists of tokens; some upstreams also take objects with a picture. */
const input = textOrPicture({
  nests: true,
  element(draft, { kind, start, end }) {
    if (kind === 'scalar') addToken(draft, end - start)
  },
})

const pictures = new Place({ element: media.pictureUrl })

/** A number is one token, however many digits it has. Its digits and the comma behind it are no text. */
function addToken(draft: Draft, digits: number): void {
  draft.prompt.tokens++
  draft.mediaBytes += digits + 1
}

export const embeddingsBody = new Place({ begin: read.writesNothing })
  .has('model', read.model)
  .has('input', { inside: input })
  // other names of the same at some upstreams
  .has('inputs', { inside: input })
  .has('messages', { inside: input })
  .has('images', { inside: pictures })
  .has('extra_body', read.noExtraBody)
  .has('service_tier', read.tier('service', 'service_tier'))
