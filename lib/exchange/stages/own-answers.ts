/** The stages that answer by themselves: lists of models, a greeting, and that there are no WebSockets. */
import type { KeyEntry } from '../../access/keys.ts'
import type { Protocol } from '../../protocols/names.ts'
import type { Target } from '../../terms/target.ts'
import type { World } from '../../world/world.ts'
import type { Exchange } from '../record/exchange.ts'
import { stage } from '../plan.ts'
import { answerJson, DONE, refuse } from '../record/ending.ts'
import type { Services } from '../record/services.ts'
import { decimalText } from '../../base/money.ts'
import { type OfferedPrice, contextOf, modalitiesOf } from '../../world/offers.ts'

/** The catalogue has no dates of models, and clients want one. */
const CREATED = { created: 1_767_225_600, created_at: '2026-01-01T00:00:00Z' }

/** Lists the models that a key may use, in one form that the clients of every protocol can read. */
export const listModels = stage<'admitted', never>((x, services) => {
  const { endpoint, model } = x.target as Target
  const ids = usableModels(x)
  if (endpoint.action === 'model') {
    if (model === null || !ids.includes(model)) return refuse(x, services, 'model_unknown', [model ?? ''])
    const entries = entriesOf(x, model)
    send(x, services, endpoint.native ? entries.native : `${entries.whole.slice(0, -1)},${entries.native.slice(1)}`)
  } else send(x, services, endpoint.native ? `{"models":${nativeList(x, ids)}}` : page(x, ids))
  return DONE
})

/** A model is usable when an enabled channel of the key's group has it, it has a price, and the key is not restricted to others. */
function usableModels(x: Exchange): string[] {
  const { key, models } = x.entry as KeyEntry
  const ids = x.world.routes.models(key.group)
  return ids.filter(id => (models === null || models.has(id)) && pricedProtocols(x, id).length > 0)
}

/** The protocols for which a channel has the model, as far as its price covers them. */
function pricedProtocols(x: Exchange, id: string): Protocol[] {
  const { group } = (x.entry as KeyEntry).key
  const tariff = x.world.tariff(group, id)
  return x.world.routes.protocolsOf(group, id).filter(protocol => tariff?.covers(protocol))
}

/** The protocols among them that no channel speaks, and one serves by translation. */
function translatedProtocols(x: Exchange, id: string): Protocol[] {
  const priced = pricedProtocols(x, id)
  return x.world.routes.translatedOf((x.entry as KeyEntry).key.group, id).filter(protocol => priced.includes(protocol))
}

/** The entries of a model as JSON. */
interface Entries {
  whole: string
  native: string
}

/** Entries beyond these are written anew each time. */
const MOST_WRITTEN = 10_000

/** The entries by group and model, as long as their world is the newest. Writing them takes longer than all else of the answer. */
const written = new WeakMap<World, Map<string, Entries>>()

function entriesOf(x: Exchange, id: string): Entries {
  const ofWorld = written.get(x.world) ?? new Map<string, Entries>()
  written.set(x.world, ofWorld)
  const name = JSON.stringify([(x.entry as KeyEntry).key.group, id])
  const known = ofWorld.get(name)
  if (known !== undefined) return known
  const made = { whole: JSON.stringify(entry(x, id)), native: JSON.stringify(nativeEntry(x, id)) }
  if (ofWorld.size < MOST_WRITTEN) ofWorld.set(name, made)
  return made
}

const nativeList = (x: Exchange, ids: readonly string[]): string =>
  `[${ids.map(id => entriesOf(x, id).native).join(',')}]`

function page(x: Exchange, ids: string[]): string {
  const query = new URLSearchParams(x.query)
  const after = query.get('after_id') ?? query.get('after')
  const rest = after === null ? ids : ids.filter(id => id > after)
  const limit = Number(query.get('limit') ?? '')
  const shown = Number.isInteger(limit) && limit > 0 ? rest.slice(0, limit) : rest
  const top = { has_more: shown.length < rest.length, first_id: shown[0] ?? null, last_id: shown.at(-1) ?? null }
  const data = shown.map(id => entriesOf(x, id).whole).join(',')
  return `{"object":"list","data":[${data}],${JSON.stringify(top).slice(1, -1)},"models":${nativeList(x, shown)}}`
}

const entry = (x: Exchange, id: string) => ({
  id,
  type: 'model',
  object: 'model',
  display_name: id,
  ...CREATED,
  owned_by: 'gateway',
  protocols: pricedProtocols(x, id),
  translated: translatedProtocols(x, id),
  ...described(x, id),
})

// --- what a client wants to know of a model, in OpenRouter's words

/** Prices have twelve places behind a million tokens, and so many behind one. */
const PER_TOKEN_PLACES = 18
const PER_PIECE_PLACES = 12

/** OpenRouter's names of prices of one token, and ours; where a model has none of its own, it costs as the class behind it. */
const PER_TOKEN = {
  prompt: ['input'],
  completion: ['output'],
  input_cache_read: ['cache_read', 'input'],
  input_cache_write: ['cache_write_5m', 'input'],
  input_cache_write_1h: ['cache_write_1h', 'input'],
  audio: ['input_audio', 'input'],
  audio_output: ['output_audio', 'output'],
  image_token: ['input_image', 'input'],
  image_output: ['output_image', 'output'],
} as const
const PER_PIECE = ['request', 'web_search', 'second', 'character'] as const

/** What is not known is null. Prices are those of the key's group, for prompts of usual length, in CNY for one token or piece. */
function described(x: Exchange, id: string): object {
  const { context, maxOutput } = limitsOf(x, id)
  const price = x.world.tariff((x.entry as KeyEntry).key.group, id)?.offered() ?? null
  return {
    context_length: context,
    max_output: maxOutput,
    architecture: modalitiesOf(pricedProtocols(x, id), price),
    pricing: price === null ? null : pricing(price),
  }
}

function limitsOf(x: Exchange, id: string): { context: number | null; maxOutput: number | null } {
  const model = x.world.model(id)
  return model === undefined
    ? { context: null, maxOutput: null }
    : { context: contextOf(model), maxOutput: model.maxOutput }
}

function pricing({ lists }: OfferedPrice): object {
  const prices = new Map<string, bigint>(lists[0]?.prices ?? [])
  const images = new Map(lists[0]?.images ?? [])
  const found: Record<string, string | null> = {}
  for (const [name, classes] of Object.entries(PER_TOKEN)) {
    const pico = classes.map(one => prices.get(one)).find(one => one !== undefined)
    found[name] = pico === undefined ? null : decimalText(pico, PER_TOKEN_PLACES)
  }
  for (const name of PER_PIECE) {
    const pico = prices.get(name)
    found[name] =
      pico === undefined ? null : decimalText(pico, name === 'character' ? PER_TOKEN_PLACES : PER_PIECE_PLACES)
  }
  const image = images.get('default')
  return { ...found, image: image === undefined ? null : decimalText(image, PER_PIECE_PLACES), currency: 'CNY' }
}

const METHODS: Partial<Record<Protocol, string[]>> = {
  generate: ['generateContent', 'streamGenerateContent', 'countTokens'],
  embeddings: ['embedContent', 'batchEmbedContents'],
}

function nativeEntry(x: Exchange, id: string): object {
  const protocols = x.world.routes.protocolsOf((x.entry as KeyEntry).key.group, id)
  const { context, maxOutput } = limitsOf(x, id)
  return {
    name: `models/${id}`,
    displayName: id,
    supportedGenerationMethods: protocols.flatMap(p => METHODS[p] ?? []),
    ...(context === null ? {} : { inputTokenLimit: context }),
    ...(maxOutput === null ? {} : { outputTokenLimit: maxOutput }),
  }
}

const send = (x: Exchange, services: Services, body: string): void => answerJson(x, services, Buffer.from(body))

// --- greetings

const HELLO = Buffer.from('{"message":"hello"}')

/** Greets coding tools, which ask whether a gateway is here before they send a key. */
export const sayHello = stage<'target', never>((x, services) => {
  answerJson(x, services, HELLO)
  return DONE
})

/** Refuses a WebSocket with 426. Clients that try one first then use HTTP at once; after any other answer they wait for seconds. */
export const refuseUpgrade = stage<'target', never>((x, services) => refuse(x, services, 'upgrade'))
