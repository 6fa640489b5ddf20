/**
 * Operations on groups, models and channels: list, show, put, remove, the same for each of the three. Rows come in the form
 * that people write; `channels.ts` knows more about channels, which are shown without their credentials.
 */
import { z } from 'zod'
import { toGroup, toModel, showGroup, showModel } from '../../catalog-file/rows.ts'
import { catalogSchema } from '../../catalog-file/schema.ts'
import type { Config } from '../../config/config.ts'
import { accepted } from '../../config/scalars.ts'
import type { Store } from '../../store/store.ts'
import type { Channel, ChannelState, Group, Model } from '../../terms/records.ts'
import type { Act, Actor } from '../../base/people.ts'
import { act, type OperationDeps, inForce } from '../deps.ts'
import { OperationError } from '../error.ts'
import { checkGroups } from '../lookups.ts'
import { withoutNulls, type Sent, read } from '../read.ts'
import { exportCatalogue } from './export.ts'
import { upstreamBalances } from './balances.ts'
import { type ChannelDeps, channelHealth, lastHealth, restChannel, testChannel, wakeChannel } from './channel-health.ts'
import { checkWay, readChannel, showChannel, withCredentials, withoutState } from './channels.ts'
import { type ChangeTerms, type Rows, judgeChange, withRow } from './judging.ts'

export { BalanceRounds } from './balances.ts'
export { channelHealthAnswer, restForm, trialAnswer, trialForm } from './channel-health.ts'

type CatalogueKind = 'groups' | 'models' | 'channels'

export const acceptedForm = z.strictObject({ accept: accepted.prefault([]) })

/** The rules of sense want to know the config too. */
export type CatalogueDeps = OperationDeps & ChannelDeps & { config: () => Config }

export class Catalogue {
  readonly #deps: CatalogueDeps

  constructor(deps: CatalogueDeps) {
    this.#deps = deps
  }

  async list(kind: CatalogueKind): Promise<object[]> {
    const rows = [...(await this.#rows(kind))]
    if (kind !== 'channels') return rows.map(([, row]) => row)
    return Promise.all(rows.map(async ([name, row]) => ({ ...row, health: await lastHealth(this.#deps, name) })))
  }

  async one(kind: CatalogueKind, name: string): Promise<object> {
    const row = (await this.#rows(kind)).get(name)
    if (row === undefined) throw missing(kind, name)
    return row
  }

  /** A channel, and how it fares. */
  async channel(name: string): Promise<object> {
    return { ...(await this.one('channels', name)), ...(await channelHealth(this.#deps, name)) }
  }

  rest = (name: string, sent: Sent) => restChannel(this.#deps, name, sent)
  wake = (name: string) => wakeChannel(this.#deps, name)
  test = (name: string, sent: Sent) => testChannel(this.#deps, name, sent)

  /** The pieces of the file that `export.ts` describes. */
  export(): AsyncGenerator<string> {
    return exportCatalogue(this.#deps.store)
  }

  /**
   * Creates or replaces a row. Its name is `name`; a name among the fields that were sent is ignored. `accept` among them names
   * rules of sense whose findings are meant; `warnings` of the answer has the others that did not refuse the row.
   */
  async put(kind: CatalogueKind, name: string, sent: Sent, actor: Actor): Promise<object> {
    const { accept, warnings: _, ...row } = sent ?? {}
    const fields = { ...withoutState(withoutNulls(row)), name }
    const terms = { config: this.#deps.config(), accept: read(acceptedForm, { accept }).accept, force: false }
    const warnings = await this.#write(kind, name, fields, sent?.['proxy'] === null, terms, act(actor, `${kind}.put`))
    const shown = await this.one(kind, name)
    await inForce(this.#deps)
    return warnings.length === 0 ? shown : { ...shown, warnings }
  }

  /** Returns what sense says of the row. */
  async #write(
    kind: CatalogueKind,
    name: string,
    fields: Record<string, unknown>,
    direct: boolean,
    terms: ChangeTerms,
    put: Act,
  ): Promise<string[]> {
    const { store } = this.#deps
    const judged = (change: (rows: Rows) => Partial<Rows>) => judgeChange(store, terms, [{ kind, name }], change)
    if (kind === 'groups') {
      const group = readGroup(fields)
      const warnings = await judged(({ groups }) => ({ groups: withRow(groups, group) }))
      await store.catalogue.putGroup(group, put)
      return warnings
    }
    if (kind === 'models') {
      const model = readModel(fields)
      if (model.offline !== true) await checkGroups(store, 'offline', model.offline)
      const warnings = await judged(({ models }) => ({ models: withRow(models, model) }))
      await store.catalogue.putModel(model, put)
      return warnings
    }
    const before = (await store.catalogue.read()).channels.find(channel => channel.name === name)
    const channel = readChannel(withCredentials(fields, before, direct))
    checkWay(fields, before, channel)
    await checkGroups(store, 'groups', channel.groups)
    const warnings = await judged(({ channels }) => ({ channels: withRow(channels, channel) }))
    await store.catalogue.putChannel(channel, put)
    return warnings
  }

  async remove(kind: CatalogueKind, name: string, actor: Actor): Promise<void> {
    const { store } = this.#deps
    if (kind === 'groups') await checkUnused(store, name)
    if (kind === 'models') await checkUnserved(store, name)
    if (!(await REMOVE[kind](store, name, act(actor, `${kind}.remove`)))) throw missing(kind, name)
    await inForce(this.#deps)
  }

  async #rows(kind: CatalogueKind): Promise<Map<string, object>> {
    const { store, fleet } = this.#deps
    const { groups, models, channels } = await store.catalogue.read()
    if (kind === 'groups') return new Map(groups.map(group => [group.name, showGroup(group)]))
    if (kind === 'models') return new Map(models.map(model => [model.name, showModel(model)]))
    const [states, isLive] = [await fleet.channelStates(), this.#deps.channels !== null]
    const balances = await upstreamBalances({ store }, channels)
    const row = (channel: Channel) => ({
      ...showChannel(channel, isLive ? (states.get(channel.name) ?? CLOSED) : null),
      balance: balances.get(channel.name) ?? null,
    })
    return new Map(channels.map(channel => [channel.name, row(channel)]))
  }
}

const REMOVE: Record<CatalogueKind, (store: Store, name: string, act: Act) => Promise<boolean>> = {
  groups: (store, name, act) => store.catalogue.deleteGroup(name, act),
  models: (store, name, act) => store.catalogue.deleteModel(name, act),
  channels: (store, name, act) => store.catalogue.deleteChannel(name, act),
}

const CLOSED: ChannelState = { state: 'closed', keys: [], open: 0 }

const missing = (kind: CatalogueKind, name: string): OperationError =>
  new OperationError('missing', `there is no ${kind.slice(0, -1)} ${name}`)

const groupRow = catalogSchema.shape.groups.unwrap().element

const readGroup = (sent: object): Group => toGroup(read(groupRow, sent))

/**
 * Throws OperationError `conflict` when a channel, a model, an account or a key names the group. Without the group's
 * row, the prices and limits of these would silently become others.
 */
async function checkUnused(store: Store, group: string): Promise<void> {
  const [{ channels, models }, accounts, keys] = await Promise.all([
    store.catalogue.read(),
    store.accounts.list(),
    store.keys.list(),
  ])
  const user =
    channels.find(row => row.groups.includes(group)) ??
    models.find(row => row.offline !== true && row.offline.includes(group)) ??
    accounts.find(row => row.groups.includes(group)) ??
    keys.find(row => row.group === group)
  if (user !== undefined) throw new OperationError('conflict', `group ${group} is still named by ${user.name}`)
}

const modelRow = catalogSchema.shape.models.unwrap().element

export const readModel = (sent: object): Model => toModel(read(modelRow, sent))

/** Throws OperationError `conflict` when channels serve the model: clients that ask for it would be refused from then on. */
async function checkUnserved(store: Pick<Store, 'catalogue'>, model: string): Promise<void> {
  const { channels } = await store.catalogue.read()
  const names = channels.filter(({ models }) => Object.hasOwn(models, model)).map(({ name }) => name)
  if (names.length === 0) return
  throw new OperationError('conflict', `model ${model} is still served by ${names.join(', ')}`, {
    channels: names.join(', '),
  })
}
