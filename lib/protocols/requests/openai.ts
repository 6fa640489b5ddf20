/** What the bodies of chat and responses requests have in common. */

import { HEAD, Place } from '../places.ts'
import * as read from '../readers.ts'

export const imageUrl = new Place().has('url', { limit: HEAD, read: read.pictureUrl })
export const mediaUrl = new Place().has('url', { limit: HEAD, read: read.documentUrl })

export const inputAudio = new Place({
  end(draft, frame) {
    read.inlineOrFetched(draft, frame, `audio/${frame.mime}`)
  },
})
  .has('data', { limit: HEAD, read: read.data })
  .has('format', { read: read.mime })

export const metadata = new Place({ free: true }).has('user_id', read.userId)

const cacheOptions = new Place().has('ttl', { read: read.ttl('30m') })

/** The members that both have at the top. */
export const top = (): Place =>
  new Place()
    .has('model', read.model)
    .has('stream', read.stream)
    .has('metadata', { inside: metadata })
    .has('prompt_cache_key', read.promptCacheKey)
    .has('prompt_cache_retention', { read: read.ttl('in_memory') })
    .has('prompt_cache_options', { inside: cacheOptions })
    .has('service_tier', read.tier('service_tier', ...read.PLAIN_TIERS))
