/**
 * Operations on groups, models and channels: list, show, put, remove, the same for each of the three. How a row of one
 * kind is read and shown stands in `groups.ts`, `models.ts` and `channels.ts`.
 */
import type { Store } from '../store/store.ts'
import { showGroup, showModel } from '../terms/catalogue-shown.ts'
import type { ChannelState } from '../terms/channel.ts'
import type { Act, Actor } from '../terms/people.ts'
import type { Model } from '../terms/records.ts'
import { act } from './acts.ts'
import { readChannel, showChannel, withCredentials, withoutState } from './channels.ts'
import { inForce, type OperationDeps } from './deps.ts'
import { OperationError } from './error.ts'
import { checkUnused, readGroup } from './groups.ts'
import { checkGroups } from './lookups.ts'
import { readModel } from './models.ts'
import { withoutNulls } from './nulls.ts'
import type { Sent } from './read.ts'

export type CatalogueKind = 'groups' | 'models' | 'channels'

export class Catalogue {
  readonly #deps: OperationDeps

  constructor(deps: OperationDeps) {
    this.#deps = deps
  }

  async list(kind: CatalogueKind): Promise<object[]> {
    return [...(await this.#rows(kind)).values()]
  }

  async one(kind: CatalogueKind, name: string): Promise<object> {
    const row = (await this.#rows(kind)).get(name)
    if (row === undefined) throw missing(kind, name)
    return row
  }

  /** Creates or replaces a row. Its name is `name`; a name among the fields that were sent is ignored. */
  async put(kind: CatalogueKind, name: string, sent: Sent, actor: Actor): Promise<object> {
    const { store } = this.#deps
    const fields = { ...withoutState(withoutNulls(sent)), name }
    const put = act(actor, `${kind}.put`)
    if (kind === 'groups') await store.putGroup(readGroup(fields), put)
    else if (kind === 'models') await this.#putModel(readModel(fields), put)
    else await this.#putChannel(name, fields, sent?.['proxy'] === null, put)
    const row = await this.one(kind, name)
    await inForce(this.#deps)
    return row
  }

  async #putModel(model: Model, put: Act): Promise<void> {
    const { store } = this.#deps
    if (model.offline !== true) await checkGroups(store, 'offline', model.offline)
    await store.putModel(model, put)
  }

  async #putChannel(name: string, fields: Record<string, unknown>, direct: boolean, put: Act): Promise<void> {
    const { store } = this.#deps
    const before = (await store.catalog()).channels.find(channel => channel.name === name)
    const channel = readChannel(withCredentials(fields, before, direct))
    await checkGroups(store, 'groups', channel.groups)
    await store.putChannel(channel, put)
  }

  async remove(kind: CatalogueKind, name: string, actor: Actor): Promise<void> {
    const { store } = this.#deps
    if (kind === 'groups') await checkUnused(store, name)
    if (!(await REMOVE[kind](store, name, act(actor, `${kind}.remove`)))) throw missing(kind, name)
    await inForce(this.#deps)
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

const REMOVE: Record<CatalogueKind, (store: Store, name: string, act: Act) => Promise<boolean>> = {
  groups: (store, name, act) => store.deleteGroup(name, act),
  models: (store, name, act) => store.deleteModel(name, act),
  channels: (store, name, act) => store.deleteChannel(name, act),
}

const CLOSED: ChannelState = { state: 'closed', keys: [], open: 0 }

const missing = (kind: CatalogueKind, name: string): OperationError =>
  new OperationError('missing', `there is no ${kind.slice(0, -1)} ${name}`)
