/** Places that the bodies of embeddings, rerank and moderations have in common. */
import * as media from '../media-readers.ts'
import { HEAD, Place, type PlaceOptions } from '../places.ts'
import { documentUrl, imageUrl } from './openai.ts'

/** A part of a text with pictures. */
const part = new Place()
  .has('image', { limit: HEAD, read: media.pictureUrl })
  .has('image_url', { limit: HEAD, read: media.pictureUrl, inside: imageUrl })
  .has('video', documentUrl)
  .has('video_url', documentUrl)

/** A text or a picture, or an array of them. A picture is a URL, or base64 with or without a URL around it. */
export const textOrPicture = (options: PlaceOptions = {}): Place =>
  new Place({
    ...options,
    end(draft, frame, end) {
      media.inlineOrFetched(draft, frame, 'image/unknown')
      options.end?.(draft, frame, end)
    },
  })
    .has('image', { limit: HEAD, read: media.data })
    .has('image_url', { limit: HEAD, read: media.pictureUrl, inside: imageUrl })
    .has('video', documentUrl)
    .has('video_url', documentUrl)
    .has('content', { inside: part })
