/** The body of an images request. */

import { HEAD, Place } from '../places.ts'
import * as read from '../readers.ts'

/** One picture, or several, as URLs or objects with one. */
const picture = new Place({ element: read.pictureUrl })
  .has('image_url', { limit: HEAD, read: read.pictureUrl })
  .has('url', { limit: HEAD, read: read.pictureUrl })
  .has('file_id', read.stored('file_id'))

const pictures = { limit: HEAD, read: read.pictureUrl, inside: picture }

/** One picture leads to the next, where an upstream knows such sequences. */
const sequence = new Place().has('max_images', {
  read(draft, value) {
    draft.sequenceLimit = read.amountOf(value) || null
  },
})

export const imagesBody = new Place()
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
