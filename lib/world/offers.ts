/**
 * What a world offers in a group, model by model, as people are told: with which protocols and at what price. It is read
 * from the same routes and tariffs by which requests are admitted and charged.
 */
import { MODEL_DEFAULTS } from '../catalog-file/schema.ts'
import { compileTariff, type OfferedPrice } from '../pricing/tariff.ts'
import type { Protocol } from '../protocols/names.ts'
import type { Group, Model, Price } from '../terms/records.ts'
import type { World } from './world.ts'

export type { OfferedPrice } from '../pricing/tariff.ts'

export interface ModelOffer {
  model: Model
  /** The protocols that an enabled channel of the group speaks, as far as the price covers them; without a price all of them. */
  protocols: readonly Protocol[]
  /** The protocols among these that no enabled channel speaks, and one serves by translation. */
  translated: readonly Protocol[]
  /** null = the model has no price for any of its protocols. */
  price: OfferedPrice | null
  offline: boolean
  /** The time since which it is offline, in ms since 1970; null = it is not, or that is not known. */
  sinceMs: number | null
  /** For each of the protocols the names of the channels that may be asked; none while it is offline. */
  channels: readonly (readonly string[])[]
}

/** By name. Models that no row of the catalogue describes are left out. */
export const offersOf = (world: World, group: string): ModelOffer[] =>
  world.routes.listed(group).flatMap(({ model: name, protocols, translated, offline }) => {
    const model = world.model(name)
    if (model === undefined) return []
    const tariff = world.tariff(group, name)
    const covered = protocols.filter(protocol => tariff?.covers(protocol))
    const price = tariff === null || covered.length === 0 ? null : tariff.offered()
    const shown = price === null ? protocols : covered
    return {
      model,
      protocols: shown,
      translated: translated.filter(protocol => shown.includes(protocol)),
      price,
      offline,
      sinceMs: offline ? world.offlineSince(name, group) : null,
      channels: shown.map(protocol => channelsOf(world, group, name, protocol)),
    }
  })

function channelsOf(world: World, group: string, model: string, protocol: Protocol): string[] {
  const candidates = (world.routes.find(group, model, protocol)?.tiers ?? []).flat()
  return candidates.flatMap(({ channel }) => (channel.enabled ? [channel.name] : []))
}

/** The price of the model in the group at another price and multiplier; null = the price is not known to this program. */
export const offeredAt = (model: Model, group: Group, price: Price, multiplier: number): OfferedPrice | null =>
  compileTariff({ ...model, price }, { ...group, multiplier })?.offered() ?? null

/** How many tokens of a prompt and its answer the model takes; null = the catalogue does not say. */
export const contextOf = ({ context }: Pick<Model, 'context'>): number | null =>
  context === MODEL_DEFAULTS.context ? null : context

/** What protocols other than those of text take and give. */
const BESIDE_TEXT: Partial<Record<Protocol, readonly [input: string | null, output: string]>> = {
  images: ['text', 'image'],
  embeddings: ['text', 'embeddings'],
  rerank: ['text', 'rerank'],
  moderations: [null, 'text'],
  speech: ['text', 'audio'],
  transcriptions: ['audio', 'text'],
}

export interface Modalities {
  /** null = not known. */
  input_modalities: string[] | null
  output_modalities: string[]
}

/** The catalogue does not say what a model of text reads; a price for pictures or sound does. */
export function modalitiesOf(protocols: readonly Protocol[], price: OfferedPrice | null): Modalities {
  const [only] = protocols
  const other = only === undefined ? undefined : BESIDE_TEXT[only]
  if (other !== undefined)
    return { input_modalities: other[0] === null ? null : [other[0]], output_modalities: [other[1]] }
  const priced = new Set((price?.lists[0]?.prices ?? []).map(([name]) => name as string))
  const of = (side: 'input' | 'output') => ['image', 'audio'].filter(what => priced.has(`${side}_${what}`))
  const reads = of('input')
  const images = (price?.lists[0]?.images.length ?? 0) > 0 ? ['image'] : []
  return {
    input_modalities: reads.length === 0 ? null : ['text', ...reads],
    output_modalities: [...new Set(['text', ...of('output'), ...images])],
  }
}
