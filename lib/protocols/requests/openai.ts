/** What the bodies of chat and responses requests have in common. */
import * as d from '../draft.ts'
import { HEAD, Place } from '../places.ts'

export const imageUrl = new Place().has('url', { limit: HEAD, read: d.pictureUrl })
export const mediaUrl = new Place().has('url', { limit: HEAD, read: d.documentUrl })

export const inputAudio = new Place({
  end(draft, frame) {
    d.inlineOrFetched(draft, frame, `audio/${frame.mime}`)
  },
})
  .has('data', { limit: HEAD, read: d.data })
  .has('format', { read: d.mime })

export const metadata = new Place({ free: true }).has('user_id', d.userId)

export const cacheOptions = new Place().has('ttl', { read: d.ttl('30m') })

/** The members that both have at the top. */
export const top = (): Place =>
  new Place()
    .has('model', d.model)
    .has('stream', d.stream)
    .has('metadata', { inside: metadata })
    .has('prompt_cache_key', d.promptCacheKey)
    .has('prompt_cache_retention', { read: d.ttl('in_memory') })
    .has('prompt_cache_options', { inside: cacheOptions })
    .has('service_tier', d.tier('service_tier', ...d.PLAIN_TIERS))
