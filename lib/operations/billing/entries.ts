/**
 * Operations on an account's entries: top up, adjust, list. An amount is booked once for each reference, so that a caller who
 * got no answer may ask again.
 */
import { z } from 'zod'
import { pause } from '../../base/clock.ts'
import { formatMicro, type Micro, subtract, ZERO } from '../../base/money.ts'
import * as kind from '../../config/scalars.ts'
import { accountPurse, type PurseId } from '../../store/books/purses.ts'
import type { Booked, Entry, NewEntry } from '../../store/books/entries.ts'
import type { Actor } from '../../base/people.ts'
import type { Account } from '../../terms/records.ts'
import { act, entryActor, inForce, type OperationDeps } from '../deps.ts'
import { OperationError } from '../error.ts'
import { cnyAboveZero, cnyAmount } from '../fields.ts'
import { accountNamed } from '../lookups.ts'
import { read, type Sent } from '../read.ts'
import { entryAnswer, entryRow, ledgerAnswer, type LedgerQuery, ledgerQuery, ofAccount } from './account-ledger.ts'

/** References that begin so are given by the gateway itself. */
const RESERVED = /^(opening|settlement$|topup:|bsc:|refund:|freeze:|dispute:|release:|row:)/

const reference = kind.scalar(
  {
    zh: '凭证号：不是settlement、也不以opening、topup:、bsc:、refund:、freeze:、dispute:、release:或row:开头的名称',
    en: 'a reference: a name that is not settlement, and does not begin with opening, topup:, bsc:, refund:, freeze:, dispute:, release: or row:',
  },
  {},
  (value): string | undefined => {
    const name = kind.name.safeParse(value)
    return name.success && !RESERVED.test(name.data) ? name.data : undefined
  },
)

const MOST_NOTE = 1_000
/** Control characters, which have no place in a statement. */
const CONTROL = /\p{Cc}/u

export const topUpForm = z.strictObject({
  amount: cnyAboveZero,
  reference,
})

/** Words that a statement or the log of actions can show. */
export const noteText = kind.scalar(
  {
    zh: `最多${MOST_NOTE}个字符、不含控制字符的文字`,
    en: `a text of at most ${MOST_NOTE} characters without control characters`,
  },
  {},
  (value): string | undefined =>
    typeof value === 'string' && value.length <= MOST_NOTE && value.isWellFormed() && !CONTROL.test(value)
      ? value.trim()
      : undefined,
)

export const adjustmentForm = z
  .strictObject({
    amount: cnyAmount(
      {
        zh: '不为0的人民币金额，最多6位小数，负数表示扣除',
        en: 'an amount of CNY with at most 6 decimal places, negative to take it away, not 0',
      },
      amount => amount !== 0,
    ),
    reference,
    note: noteText.prefault(''),
    force: z.boolean('true or false').prefault(false),
  })
  .refine(({ force, note }) => !force || note !== '', {
    path: ['note'],
    ...kind.problem({ zh: '使用`force`时须说明原因', en: 'a reason, because of `force`' }),
  })

export const accountEntriesQuery = ledgerQuery(100, 1_000)
export const entriesQuery = ledgerQuery(50, 200)

export const entriesAnswer = z.strictObject({
  zone: z.string(),
  data: z.array(entryAnswer),
  next: z.string().nullable(),
})
export type EntriesAnswer = z.output<typeof entriesAnswer>

export class Entries {
  readonly #deps: OperationDeps

  constructor(deps: OperationDeps) {
    this.#deps = deps
  }

  /** Credits an amount once for each reference. `created` is false when this reference has credited the account before. */
  async topUp(name: string, sent: Sent, actor: Actor) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const account = await accountNamed(store, name)
    const { amount, reference } = read(topUpForm, sent)
    const entry: NewEntry = { kind: 'topup', amount, reference, actor: entryActor(actor), note: '' }
    const { created } = this.#accepted(entry, await store.entries.add(account.id, entry, act(actor, 'entries.topUp')))
    const balance = await this.#balanceOf(account)
    await inForce(this.#deps)
    return { created, row: { account: name, amount: formatMicro(amount), reference, balance } }
  }

  /**
   * Adds a signed amount to the balance. Money is taken away only where no process has charged or leased it, or with
   * `force` in any case. `created` is false when the same adjustment was made before.
   */
  async adjust(name: string, sent: Sent, actor: Actor) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const account = await accountNamed(store, name)
    const { amount, reference, note, force } = read(adjustmentForm, sent)
    const entry: NewEntry = { kind: 'adjustment', amount, reference, actor: entryActor(actor), note }
    const by = act(actor, 'entries.adjust')
    const booked = await debitWithRecall(this.#deps, accountPurse(account.id), () =>
      store.entries.add(account.id, entry, by, force && amount < 0),
    )
    const { created, entry: there } = this.#accepted(entry, booked)
    const balance = await this.#balanceOf(account)
    await inForce(this.#deps)
    return { created, row: { account: name, ...entryRow(there, balance) } }
  }

  /** For operators: one page of the ledger, newest first, with the number of each entry and who booked it. */
  async page(name: string, filter: Sent) {
    const { store, fleet, clock } = this.#deps
    await fleet.settled()
    const account = await accountNamed(store, name)
    return ledgerAnswer(store, account.id, read(accountEntriesQuery, filter), clock.now())
  }

  /** For the people of the account: one page of the ledger, newest first. */
  async own(account: Account, query: LedgerQuery): Promise<EntriesAnswer> {
    const { store, fleet, clock } = this.#deps
    await fleet.settled()
    const { data, next } = await ledgerAnswer(store, account.id, query, clock.now())
    return { zone: store.zone, data: data.map(ofAccount), next }
  }

  #accepted({ reference }: NewEntry, booked: Booked): { created: boolean; entry: Entry } {
    if (booked.outcome === 'conflict')
      throw new OperationError('conflict', `reference ${reference} stands for another entry already`)
    if (booked.outcome === 'short') throw tooLittle(booked)
    return { created: booked.outcome === 'created', entry: booked.entry }
  }

  async #balanceOf({ id }: Account): Promise<string> {
    const [purse] = await this.#deps.store.books.purses([accountPurse(id)])
    return formatMicro(purse === undefined ? ZERO : subtract(purse.credit ?? ZERO, purse.spent))
  }
}

/** The refusal of a debit that finds too little. */
export const tooLittle = ({ available: left }: { available: Micro }): OperationError => {
  const available = formatMicro(left)
  return new OperationError('conflict', `only ${available} CNY can be taken away now`, { available })
}

/** A debit is tried again so often, and after so long, while processes give back what they leased and do not need. */
const RECALL_TRIES = 12
const RECALL_WAIT_MS = 120

/**
 * Books a debit that may take only money that no process has leased or charged. Where that is too little, its outcome is `short`: then
 * the leases of the purse are called back, and the debit is tried again. Returns the last outcome, which may still be `short`.
 */
export async function debitWithRecall<B extends { outcome: string }>(
  { store, clock, fleet }: Pick<OperationDeps, 'store' | 'clock' | 'fleet'>,
  purse: PurseId,
  debit: () => Promise<B>,
): Promise<B> {
  let booked = await debit()
  for (let tries = 0; booked.outcome === 'short' && tries < RECALL_TRIES; tries++) {
    if (tries === 0) {
      await store.books.recall(purse)
      await fleet.changed().catch(() => {}) // the processes find the recall in the store all the same
    }
    const [{ leased } = { leased: 0 }] = await store.books.purses([purse])
    if (leased > 0) await pause(clock, RECALL_WAIT_MS)
    booked = await debit()
    if (leased <= 0) break
  }
  return booked
}
