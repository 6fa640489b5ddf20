/** Keys. A secret leaves once, in the answer that creates it. */
import { formatMicro, ZERO } from '../../base/money.ts'
import { keyPurse, type NewKey } from '../../store/store.ts'
import type { Key } from '../../terms/records.ts'
import { AdminError, type Answer, created, NO_CONTENT, ok } from '../answer.ts'
import type { OpsDeps } from '../server.ts'
import type { Body } from './admin.ts'
import { keyChange, keysQuery, newKey } from './forms.ts'
import { accountNamed, checkGroups, parameters } from './lookups.ts'
import { withoutNulls } from './nulls.ts'
import { read } from './read.ts'
import { hashOf, hintOf, newSecret } from './secret.ts'

export class Keys {
  readonly #deps: OpsDeps

  constructor(deps: OpsDeps) {
    this.#deps = deps
  }

  async list(query: URLSearchParams): Promise<Answer> {
    const { store } = this.#deps
    const { account } = read(keysQuery, parameters(query))
    const keys = await store.keys(account === undefined ? undefined : (await accountNamed(store, account)).id)
    return ok({ data: await this.#show(keys) })
  }

  async create(body: Body): Promise<Answer> {
    const { store } = this.#deps
    const row = read(newKey, withoutNulls(body))
    const account = await store.accountByName(row.account)
    if (account === null) throw new AdminError(400, `account: there is no account ${row.account}`)
    await checkGroups(store, 'group', [row.group])
    const secret = newSecret()
    const key = await store.createKey({
      accountId: account.id,
      name: row.name,
      hash: hashOf(secret),
      hint: hintOf(secret),
      group: row.group,
      status: row.status,
      expiresAtMs: row.expires_at ?? null,
      cap: row.cap ?? null,
      allowIps: row.allow_ips ?? null,
      models: row.models ?? null,
    })
    const { id, ...rest } = await this.#showOne(key)
    return created({ id, secret, ...rest })
  }

  async change(id: string, body: Body): Promise<Answer> {
    const { store } = this.#deps
    const key = await this.#named(id)
    const sent = read(keyChange, body)
    if (sent.group !== undefined) await checkGroups(store, 'group', [sent.group])
    const { expires_at: expiresAtMs, allow_ips: allowIps, ...rest } = sent
    const change = { ...rest, expiresAtMs, allowIps } as Partial<NewKey> // the store leaves alone what is undefined
    return ok(await this.#showOne(await store.updateKey(key.id, change)))
  }

  async remove(id: string): Promise<Answer> {
    const { store } = this.#deps
    await store.deleteKey((await this.#named(id)).id)
    return NO_CONTENT
  }

  async #named(id: string): Promise<Key> {
    const key = /^\d{1,15}$/.test(id) ? await this.#deps.store.key(Number(id)) : null
    if (key === null) throw new AdminError(404, `there is no key with id ${id}`)
    return key
  }

  async #showOne(key: Key) {
    return (await this.#show([key]))[0]!
  }

  async #show(keys: readonly Key[]) {
    const { store } = this.#deps
    const [purses, names] = await Promise.all([store.purses(keys.map(key => keyPurse(key.id))), this.#accounts(keys)])
    const used = new Map(purses.map(purse => [purse.id, purse.spent]))
    return keys.map(key => ({
      id: key.id,
      account: names.get(key.accountId) ?? null,
      name: key.name,
      group: key.group,
      status: key.status,
      expires_at: key.expiresAtMs === null ? null : new Date(key.expiresAtMs).toISOString(),
      cap: key.cap === null ? null : formatMicro(key.cap),
      used: formatMicro(used.get(keyPurse(key.id)) ?? ZERO),
      allow_ips: key.allowIps,
      models: key.models,
      hint: key.hint,
    }))
  }

  /** Names of their accounts; one is asked for alone, because that is the usual case. */
  async #accounts(keys: readonly Key[]): Promise<Map<number, string>> {
    const { store } = this.#deps
    const ids = [...new Set(keys.map(key => key.accountId))]
    const accounts = ids.length > 1 ? await store.accounts() : await Promise.all(ids.map(id => store.account(id)))
    return new Map(accounts.flatMap(account => (account === null ? [] : [[account.id, account.name] as const])))
  }
}
