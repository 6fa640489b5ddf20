/** The places of an images request's body in which something matters. */

import { formBody, formOr } from '../form-body.ts'
import { jsonBody } from '../json-body.ts'
import * as media from '../media-readers.ts'
import { type FieldOptions, HEAD, Place } from '../places.ts'
import * as read from '../readers.ts'
import type { PictureKind } from '../words/usage.ts'

/** The form of answer in which pictures are base64. */
const ENCODED = 'b64_json'

/** One picture or several, each as a URL or an object with a URL. */
const picture = new Place({ element: media.pictureUrl })
  .has('image_url', { limit: HEAD, read: media.pictureUrl })
  .has('url', { limit: HEAD, read: media.pictureUrl })
  .has('file_id', read.stored('file_id'))

const pictures = { limit: HEAD, read: media.pictureUrl, inside: picture }

/** A sequence of pictures, which some upstreams offer. */
const sequence = new Place().has('max_images', {
  read(draft, value) {
    draft.sequenceLimit = read.numberIn(value) || null
  },
})

/** Reads how the pictures are to be. Single upstreams have names of their own for the size. */
const asked = (member: keyof PictureKind): FieldOptions => {
  const said = read.pictureSaid(member)
  return {
    read(draft, value, frame) {
      said(draft, value, frame)
      draft.picture = frame.picture
    },
  }
}

/** A side of the picture. Upstreams that read it pass over the size, which nobody can rely on then. */
const side: FieldOptions = {
  read(draft, value, frame) {
    if (read.isNull(value)) return
    read.pictureSaid('size')(draft, { ...value, text: null }, frame)
    draft.picture = frame.picture
  },
}

const imagesPlace = new Place()
  .has('model', read.model)
  .has('stream', read.stream)
  .has('n', { read: read.answers })
  .has('batch_size', { read: read.answers })
  .has('num_images', { read: read.answers })
  .has('sequential_image_generation', {
    read(draft, value) {
      draft.sequence = !read.isNull(value) && read.textOf(value) !== 'disabled'
    },
  })
  .has('sequential_image_generation_options', { inside: sequence })
  .has('image', pictures)
  .has('images', pictures)
  .has('mask', pictures)
  .has('size', asked('size'))
  .has('image_size', asked('size'))
  .has('resolution', asked('size'))
  .has('width', side)
  .has('height', side)
  .has('quality', asked('quality'))
  .has('extra_body', read.noExtraBody)
  .has('service_tier', read.tier('service', 'service_tier'))
  .has('response_format', {
    read(draft, value) {
      draft.encodedPictures = read.textOf(value)?.toLowerCase() === ENCODED
    },
  })

/** Pictures and masks to be changed. What else a form may hold is not known to cost anything. */
const form = formBody({
  place: imagesPlace,
  files: ['image', 'mask'],
  upload(draft) {
    draft.prompt.pictures++
  },
})

export const imagesBody = formOr(form, jsonBody(imagesPlace))
