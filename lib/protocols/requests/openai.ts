/** What the bodies of chat and responses requests have in common. */

import { HEAD, Place } from '../places.ts'
import * as read from '../readers.ts'

export const imageUrl = new Place().has('url', { limit: HEAD, read: read.pictureUrl })
const mediaUrl = new Place().has('url', { limit: HEAD, read: read.documentUrl })
/** A document, film or sound as a URL, or as an object with one. */
export const documentUrl = { limit: HEAD, read: read.documentUrl, inside: mediaUrl }

export const inputAudio = new Place({
  end(draft, frame) {
    read.inlineOrFetched(draft, frame, `audio/${frame.mime}`)
  },
})
  .has('data', { limit: HEAD, read: read.data })
  .has('format', { read: read.mime })

const metadata = new Place({ free: true }).has('user_id', read.userId)

const cacheOptions = new Place().has('ttl', { read: read.ttl('30m') })

/** A search that the upstream makes, unless it is switched off in here. */
export const search = new Place({ end: read.serverTool })
  .has('enable', {
    read(_draft, value, frame) {
      if (!read.isOn(value)) frame.uses = 0
    },
  })
  .has('mode', {
    read(_draft, value, frame) {
      if (read.textOf(value) === 'off') frame.uses = 0
    },
  })

/** Searches and the like, which some upstreams run before the model is asked. */
const plugin = new Place({ element: draft => void draft.prompt.unlimitedTools++, end: read.serverTool })

/** The members that both have at the top. */
export const top = (): Place =>
  new Place()
    .has('model', read.model)
    .has('stream', read.stream)
    .has('metadata', { inside: metadata })
    .has('prompt_cache_key', read.promptCacheKey)
    .has('prompt_cache_retention', { read: read.ttl('in_memory') })
    .has('prompt_cache_options', { inside: cacheOptions })
    // models to which some upstreams turn when the asked one fails: their names are the upstream's, and nobody here may give them
    .has('models', read.stored('models'))
    .has('fallbacks', read.stored('fallbacks'))
    .has('preset', read.stored('preset'))
    .has('plugins', { inside: plugin })
    .has('service_tier', read.tier('service_tier', ...read.PLAIN_TIERS))
