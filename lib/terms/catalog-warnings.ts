/**
 * Warnings about a catalogue file: what can be applied and is probably not meant, because it costs money or serves
 * nobody. For example a model that a channel serves and that has no price, or a key whose group its account may not
 * use.
 */
import { KINDS, type Kind } from '../protocols/kinds.ts'
import type { CatalogForm } from './config-catalog.ts'
import { didYouMean } from './typos.ts'
import { protocolEnding } from './upstream-paths.ts'
import type { Source } from './yaml.ts'

/** What the store has already. */
export interface KnownRows {
  /** Models that have a price. */
  priced: Iterable<string>
  /** Models that an enabled channel serves. */
  served: Iterable<string>
  /** Whether some group is public. Left out: nothing is said of it, because not everybody shows a catalogue. */
  publicGroup?: boolean
}

/** Adds the warnings to `source`. */
export function warnOf(form: CatalogForm, source: Source, known: KnownRows): void {
  const priced = new Set([...known.priced, ...form.models.flatMap(row => (row.price === undefined ? [] : [row.name]))])
  const served = new Set(known.served)
  for (const { status, models } of form.channels)
    if (status === 'enabled') for (const name of Object.keys(models)) served.add(name)
  const written = (source.value as { channels?: { models?: unknown }[] }).channels ?? []
  for (const [i, { base_url, kind, models }] of form.channels.entries()) {
    if (kind !== undefined && (KINDS[kind] as Kind).unrecorded)
      source.warn(
        ['channels', i, 'kind'],
        `a kind whose answers were recorded: ${kind} is unrecorded, so compare its first charges with its bill`,
      )
    const protocol = protocolEnding(base_url)
    if (protocol !== null)
      source.warn(['channels', i, 'base_url'], `an address without the path of ${protocol}, which is appended to it`)
    const list = Array.isArray(written[i]?.models)
    for (const [j, name] of Object.keys(models).entries())
      if (!priced.has(name))
        source.warn(['channels', i, 'models', list ? j : name], `a model that has a price${didYouMean(name, priced)}`, {
          atKey: !list,
        })
  }
  const unpriced = [...served].filter(name => !priced.has(name))
  for (const [i, { name, price }] of form.models.entries())
    if (price !== undefined && !served.has(name))
      source.warn(['models', i, 'name'], `a model that an enabled channel serves${didYouMean(name, unpriced)}`)
  if (served.size > 0 && known.publicGroup === false && !form.groups.some(row => row.public))
    source.warn(
      ['groups'],
      'a group with public: true, because the catalogue shows no other to people who have not signed in',
    )
  warnOfWeights(form, source)
  warnOfKeys(form, source, served)
}

/**
 * Weight 0 means "only when no other channel is left", which cannot be meant for every channel of a model and priority.
 */
function warnOfWeights({ channels }: CatalogForm, source: Source): void {
  const places = new Map<string, number[]>()
  for (const [i, row] of channels.entries()) {
    if (row.status !== 'enabled') continue
    for (const group of row.groups)
      for (const model of Object.keys(row.models))
        for (const protocol of row.protocols) {
          const place = JSON.stringify([group, model, protocol, row.priority])
          places.set(place, [...(places.get(place) ?? []), i])
        }
  }
  const first = new Set<number>()
  for (const sharing of places.values())
    if (sharing.length > 1 && sharing.every(i => channels[i]?.weight === 0)) first.add(sharing[0] as number)
  for (const i of first)
    source.warn(['channels', i, 'weight'], 'a weight above 0 at one of the channels that share a model and a priority')
}

function warnOfKeys({ accounts, keys }: CatalogForm, source: Source, served: ReadonlySet<string>): void {
  const groups = new Map(accounts.map(row => [row.name, row.groups]))
  for (const [i, { account, group, models, allow_ips }] of keys.entries()) {
    const allowed = groups.get(account)
    if (allowed !== undefined && !allowed.includes(group))
      source.warn(
        ['keys', i, 'group'],
        `a group of account ${account} (${allowed.join(', ')})${didYouMean(group, allowed)}`,
      )
    for (const [field, list] of [['models', models] as const, ['allow_ips', allow_ips] as const])
      if (list?.length === 0)
        source.warn(['keys', i, field], 'at least one entry, because nobody can use a key with an empty list')
    for (const [j, name] of (models ?? []).entries())
      if (!served.has(name))
        source.warn(['keys', i, 'models', j], `a model that an enabled channel serves${didYouMean(name, served)}`)
  }
}
