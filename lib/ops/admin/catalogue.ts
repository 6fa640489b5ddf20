/** Groups, models and channels: the same calls for each. */
import type { Store } from '../../store/store.ts'
import type { Channel, ChannelState } from '../../terms/channel.ts'
import { AdminError, type Answer, NO_CONTENT, ok } from '../answer.ts'
import type { OpsDeps } from '../server.ts'
import type { Body } from './admin.ts'
import { checkUnused } from './groups.ts'
import { checkGroups } from './lookups.ts'
import { withoutNulls } from './nulls.ts'
import { HIDDEN, readChannel, readGroup, readModel, showChannel, showGroup, showModel, shownProxy } from './rows.ts'

export type CatalogueKind = 'groups' | 'models' | 'channels'

export class Catalogue {
  readonly #deps: OpsDeps

  constructor(deps: OpsDeps) {
    this.#deps = deps
  }

  async list(kind: CatalogueKind): Promise<Answer> {
    return ok({ data: [...(await this.#rows(kind)).values()] })
  }

  async one(kind: CatalogueKind, name: string): Promise<Answer> {
    const row = (await this.#rows(kind)).get(name)
    if (row === undefined) throw missing(kind, name)
    return ok(row)
  }

  /** `name` is the path's and `state` the gateway's to say; whatever the body says of them is ignored. */
  async put(kind: CatalogueKind, name: string, body: Body): Promise<Answer> {
    const { store } = this.#deps
    const sent = { ...withoutState(withoutNulls(body)), name }
    if (kind === 'groups') await store.putGroup(readGroup(sent))
    else if (kind === 'models') await store.putModel(readModel(sent))
    else await this.#putChannel(name, sent, body?.['proxy'] === null)
    return this.one(kind, name)
  }

  /** What is sent without keys or proxy keeps those it has, as far as they can be read. */
  async #putChannel(name: string, sent: Record<string, unknown>, direct: boolean): Promise<void> {
    const { store } = this.#deps
    const before = (await store.catalog()).channels.find(channel => channel.name === name)
    const channel = readChannel(withHeaders(withProxy(withKeys(sent, before), direct ? undefined : before), before))
    await checkGroups(store, 'groups', channel.groups)
    await store.putChannel(channel)
  }

  async remove(kind: CatalogueKind, name: string): Promise<Answer> {
    const { store } = this.#deps
    if (kind === 'groups') await checkUnused(store, name)
    if (!(await REMOVE[kind](store, name))) throw missing(kind, name)
    return NO_CONTENT
  }

  async #rows(kind: CatalogueKind): Promise<Map<string, object>> {
    const { store, fleet } = this.#deps
    const { groups, models, channels } = await store.catalog()
    if (kind === 'groups') return new Map(groups.map(group => [group.name, showGroup(group)]))
    if (kind === 'models') return new Map(models.map(model => [model.name, showModel(model)]))
    const states = await fleet.channelStates()
    return new Map(channels.map(channel => [channel.name, showChannel(channel, states.get(channel.name) ?? CLOSED)]))
  }
}

/** A key that is not sent stays, each in its place: what was read may be written back, also with a new `key` beside it. */
function withKeys({ keys, ...sent }: Record<string, unknown>, before: Channel | undefined): Record<string, unknown> {
  const readable = before?.sealed === true ? undefined : before
  const there = readable?.keys.map(one => ({ key: one.key, max_concurrency: one.maxConcurrency }))
  if (keys === undefined) return sent['key'] !== undefined || there === undefined ? sent : { ...sent, keys: there }
  if (!Array.isArray(keys)) return { ...sent, keys }
  const rows = keys.map(row => withoutState(row))
  if (sent['key'] !== undefined && rows.every(row => !('key' in row))) return sent
  return { ...sent, keys: rows.map((row, i) => ('key' in row ? row : { key: there?.[i]?.key, ...row })) }
}

/**
 * A proxy that is not sent stays, as a key does: else whoever changes a weight would send everything past it. So does one
 * sent as it is shown, without its credentials.
 */
function withProxy(sent: Record<string, unknown>, before: Channel | undefined): Record<string, unknown> {
  const there = before?.proxy ?? null
  const stays = there !== null && (sent['proxy'] === undefined || sent['proxy'] === shownProxy(there))
  if (stays && there === '')
    throw new AdminError(400, 'proxy: expected it once more, or null: what is stored is sealed under another secret')
  return stays ? { ...sent, proxy: there } : sent
}

/** Constants that are shown hidden stay as they are when they are sent so. */
function withHeaders(sent: Record<string, unknown>, before: Channel | undefined): object {
  const { headers } = sent
  if (typeof headers !== 'object' || headers === null || before === undefined) return sent
  const kept = Object.entries(before.headers).filter(
    ([name, value]) => value !== '' && (headers as Record<string, unknown>)[name] === HIDDEN,
  )
  return { ...sent, headers: { ...headers, ...Object.fromEntries(kept) } }
}

const withoutState = (row: unknown): object => {
  if (typeof row !== 'object' || row === null) return {}
  const { state: _, ...rest } = row as Record<string, unknown>
  return rest
}

const REMOVE: Record<CatalogueKind, (store: Store, name: string) => Promise<boolean>> = {
  groups: (store, name) => store.deleteGroup(name),
  models: (store, name) => store.deleteModel(name),
  channels: (store, name) => store.deleteChannel(name),
}

const CLOSED: ChannelState = { state: 'closed', keys: [], open: 0 }

const missing = (kind: CatalogueKind, name: string): AdminError =>
  new AdminError(404, `there is no ${kind.slice(0, -1)} ${name}`)
