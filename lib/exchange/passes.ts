/**
 * Prices the passes of an answer. An upstream may make a part of its answer, a pass, with another model than the one that was
 * asked for: with an advisor, or with a fallback. Each pass costs what its own model costs.
 */
import type { KeyEntry } from '../access/keys.ts'
import type { CompiledChannel } from '../channels/compiled-channel.ts'
import { type Part, Tariff } from '../pricing/tariff.ts'
import type { Pass } from '../protocols/reports.ts'
import type { Protocol } from '../terms/records.ts'
import type { World } from '../world/world.ts'

/** What is known of the request whose answer has the passes. */
interface Asking {
  readonly world: World
  readonly entry: KeyEntry | null
  readonly protocol: Protocol | null
  readonly model: string
  readonly tariff: Tariff | null
}

/** The price of every model that may have a part in the answer, where the request names others beside its own. */
export function tariffOfAll(x: Asking, channel: CompiledChannel | undefined, others: readonly string[]): Tariff {
  if (others.length === 0) return x.tariff as Tariff
  return Tariff.dearest([x.tariff as Tariff, ...others.map(name => tariffOfPass(x, channel, name))])
}

/** The models of ours that a channel's upstream may mean by this name. The one that was asked for is preferred. */
export function modelsBehind(channel: CompiledChannel | undefined, name: string, asked: string): readonly string[] {
  const mapped = channel?.modelsOf.get(name) ?? [name]
  return mapped.includes(asked) ? [asked] : mapped
}

/** The price of a pass. `name` is the upstream's name of the model; null = the model that was asked for. */
function tariffOfPass(x: Asking, channel: CompiledChannel | undefined, name: string | null): Tariff {
  const asked = x.tariff as Tariff
  if (name === null) return asked
  const could = modelsBehind(channel, name, x.model)
  if (could.includes(x.model)) return asked
  const priced = could.map(model => priceOf(x, model)).filter(tariff => tariff !== null)
  if (could.length === 1 && priced[0] !== undefined) return priced[0]
  // it is not known which model this was, so each class of tokens has the highest price of all models that it could be
  return Tariff.dearest([asked, ...priced])
}

function priceOf(x: Asking, model: string): Tariff | null {
  const tariff = x.world.tariff((x.entry as KeyEntry).key.group, model)
  return tariff?.covers(x.protocol as Protocol) ? tariff : null
}

/** What each pass used, with its price. `channel` is the name of the channel that made them. */
export function partsOf(x: Asking, channel: string, passes: readonly Pass[]): Part<Tariff>[] {
  const at = x.world.routes.channels.find(({ name }) => name === channel)
  return passes.map(({ model, usage }) => ({ tariff: tariffOfPass(x, at, model), usage }))
}
