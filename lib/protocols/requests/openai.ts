/** Places that the bodies of chat and responses requests have in common. */

import { toolChoice, withSwitches } from '../asked-tools.ts'
import * as media from '../media-readers.ts'
import { HEAD, Place, type PlaceOptions } from '../places.ts'
import * as read from '../readers.ts'
import { modalities, voice } from './modalities.ts'

export const imageUrl = new Place().has('url', { limit: HEAD, read: media.pictureUrl })
const mediaUrl = new Place().has('url', { limit: HEAD, read: media.documentUrl })
/** A document, film or sound, as a URL or an object with a URL. */
export const documentUrl = { limit: HEAD, read: media.documentUrl, inside: mediaUrl }

export const file = new Place({ end: (draft, frame) => media.inlineOrFetched(draft, frame) })
  .has('file_data', { limit: HEAD, read: media.data })
  .has('file_url', { limit: HEAD, read: media.documentUrl })
  .has('file_id', read.stored('file_id'))

export const inputAudio = new Place({
  end(draft, frame) {
    media.inlineOrFetched(draft, frame, `audio/${frame.mime}`)
  },
})
  .has('data', { limit: HEAD, read: media.data })
  .has('format', { read: media.mime })

const metadata = new Place({ free: true }).has('user_id', read.userId)

const cacheOptions = new Place().has('ttl', { read: read.ttl('30m') })

/** The fields that both bodies have at the top. */
export const top = (options: PlaceOptions = {}): Place =>
  withSwitches(new Place(options))
    .has('model', read.model)
    .has('stream', read.stream)
    .has('metadata', { inside: metadata })
    .has('prompt_cache_key', read.promptCacheKey)
    .has('prompt_cache_retention', { read: read.ttl('in_memory') })
    .has('prompt_cache_options', { inside: cacheOptions })
    // as `models`: others that some upstreams ask when the first one fails, whose prices are not known here
    .has('fallbacks', read.stored('fallbacks'))
    .has('tool_choice', toolChoice)
    .has('modalities', modalities)
    .has('audio', { read: voice })
    .has('service_tier', read.tier('service', 'service_tier'))
