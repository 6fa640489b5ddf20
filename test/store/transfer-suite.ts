/** What every store must do with transfers: number addresses, move the cursor, and count each transfer once. */

import type { Test } from 'tap'
import { micro } from '../../lib/base/money.ts'
import type { Driver } from '../../lib/store/base/driver.ts'
import type { Store } from '../../lib/store/store.ts'
import { accountPurse } from '../../lib/store/books/purses.ts'
import type { NewRefund } from '../../lib/store/payments/types.ts'
import { type TransferOrder, idOfText, type NewTransfer, WEI } from '../../lib/terms/chain.ts'
import type { Act } from '../../lib/base/people.ts'
import type { Databases } from '../support/databases.ts'
import { fund, openDriver } from '../support/store.ts'
import { confirmTransfers, creditTransfers, proofOfTransfer } from '../support/transfers.ts'

const ACT: Act = { actor: { kind: 'user', userId: 1, name: 'a@b.cn', ip: '::1' }, operation: 'transfers.address' }
const CHAIN = 56
const CNY = 1_000_000
const MINIMUM = micro(40 * CNY)
const HOUR_MS = 3_600_000

const hash = (text: string) => `0x${Buffer.from(text).toString('hex').padStart(64, '0')}`
const block = (no: number) => ({ no, hash: hash(`block ${no}`) })
const until = (no: number) => ({ ...block(no), atMs: no * 450 })

export function transferSuite(t: Test, { pair }: Databases): void {
  const check = (name: string, fn: (t: Test, one: Store, two: Store, driver: Driver) => Promise<void>) =>
    t.test(name, async t => {
      const { one, two, url } = await pair(t, { secret: 'x' })
      const driver = openDriver(url)
      t.teardown(() => driver.close())
      await fn(t, one, two, driver)
    })

  let count = 0
  const transfer = (accountId: number, value: bigint, change: Partial<NewTransfer> = {}): NewTransfer => ({
    tx: hash(`tx ${++count}`),
    logIndex: count,
    from: `0x${'1'.repeat(40)}`,
    to: `0x${String(accountId).padStart(40, '0')}`,
    value,
    block: block(1),
    accountId,
    blockAtMs: 450,
    node: 1,
    sandbox: true,
    ...change,
  })
  const rate = async (store: Store, cny: number, fromMs = Date.now() - HOUR_MS, untilMs = Date.now() + HOUR_MS) =>
    store.pay.setPayRate({ currency: 'USDT', rate: cny * CNY, fromMs, untilMs }, ACT)
  const confirmed = async (store: Store, transfers: NewTransfer[]) => {
    await store.chain.addTransfers(CHAIN, transfers)
    await confirmTransfers(store, CHAIN)
  }
  const balanceOf = async (store: Store, accountId: number): Promise<number> => {
    const [purse] = await store.books.purses([accountPurse(accountId)])
    return (purse?.credit as number) - (purse?.spent as number)
  }

  check('addresses have numbers without gaps, and an account has one', async (t, one, two) => {
    const accounts = await Promise.all(Array.from({ length: 10 }, (_, i) => fund(one, `a${i}`, 0)))
    const issue = (store: Store, accountId: number, wallet = 'w') =>
      store.chain.issueAddress({ chainId: CHAIN, wallet, accountId, fromBlock: 7 }, n => `0x${n}`, ACT)
    const issued = await Promise.all(
      accounts.flatMap(({ account: { id } }) => [issue(one, id), issue(two, id), issue(two, id)]),
    )
    t.same(
      [...new Set(issued.map(({ number }) => number))].toSorted((a, b) => a - b),
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    )
    t.equal(new Set(issued.map(({ accountId, address }) => `${accountId} ${address}`)).size, 10)
    const { account } = accounts[0] as (typeof accounts)[number]
    t.match(await one.chain.chainAddress(CHAIN, 'w', account.id), { fromBlock: 7, watched: false })
    const other = await issue(one, account.id, 'another key')
    t.equal(other.number, 10, 'another key goes on with the numbers')
    t.equal((await one.chain.addresses(CHAIN, 3, 4)).map(({ number }) => number).join(), '4,5,6,7')
    await one.chain.addressesWatched(CHAIN, [other.number])
    t.match(await two.chain.chainAddress(CHAIN, 'another key', account.id), { watched: true })
    t.equal((await one.actions.page({ operation: 'transfers.address', limit: 99 })).length, 11)
  })

  check('one process reads a chain at a time', async (t, one, two) => {
    t.equal(await one.chain.takeChain(CHAIN, 'a', 1_000, 100), true)
    t.equal(await two.chain.takeChain(CHAIN, 'b', 1_050, 100), false)
    t.equal(await one.chain.takeChain(CHAIN, 'a', 1_090, 100), true)
    t.equal(await two.chain.takeChain(CHAIN, 'b', 1_150, 100), false)
    t.equal(await two.chain.takeChain(CHAIN, 'b', 1_190, 100), true)
    t.equal(await one.chain.takeChain(CHAIN, 'a', 1_191, 100), false)
    const both = await Promise.all([one.chain.takeChain(97, 'a', 1, 9), two.chain.takeChain(97, 'b', 1, 9)])
    t.same(both.toSorted(), [false, true])
  })

  check('the cursor moves with what was found, and only from where it is', async (t, one, two) => {
    const { account } = await fund(one, 'a', 0)
    t.equal(await one.chain.chainCursor(CHAIN), null)
    await Promise.all([one.chain.beginChain(CHAIN, block(10), 4_500), two.chain.beginChain(CHAIN, block(11), 4_500)])
    const cursor = await one.chain.chainCursor(CHAIN)
    const at = cursor?.no as number
    const first = transfer(account.id, WEI)
    const race = await Promise.all(
      [one, two].map(store => store.chain.advanceChain(CHAIN, block(at), until(20), [first])),
    )
    t.same(
      race.filter(recorded => recorded !== null),
      [{ added: 1, clashing: [] }],
    )
    t.equal(await one.chain.advanceChain(CHAIN, block(at), until(30), [transfer(account.id, WEI)]), null)
    t.equal(await one.chain.advanceChain(CHAIN, { ...block(20), hash: hash('fork') }, until(30), []), null)
    t.match(await two.chain.chainCursor(CHAIN), { ...block(20), blockAtMs: 9_000, secondNo: at })
    t.equal((await two.chain.transferOrders({ limit: 9 })).length, 1)
    t.same(await one.chain.advanceChain(CHAIN, block(20), until(21), [first]), { added: 0, clashing: [] })
    const moved = { ...first, logIndex: first.logIndex + 1, block: { no: 21, hash: hash('elsewhere') } }
    t.match(await one.chain.addTransfers(CHAIN, [moved]), { added: 1, clashing: [moved] })
    const [, known] = await one.chain.transferOrders({ limit: 9 })
    await one.pay.proveOrder(proofOfTransfer(known!))
    const late = { ...moved, logIndex: first.logIndex + 2 }
    t.match(await one.chain.addTransfers(CHAIN, [late]), { added: 1, clashing: [late] })
    t.same(
      (await one.chain.transferOrders({ limit: 9 })).map(({ state }) => state),
      ['failed', 'pending', 'paid'],
      'a person looks at what comes after a confirmation',
    )
    await one.chain.secondRead(CHAIN, cursor!.secondTo)
    t.match(await one.chain.chainCursor(CHAIN), { secondNo: at, secondTo: block(21) })
    await one.chain.secondRead(CHAIN, { ...block(at), hash: hash('old') })
    t.match(await one.chain.chainCursor(CHAIN), { secondTo: block(21) })
    await one.chain.rewindChain(CHAIN, until(5), 'why', { ...ACT, operation: 'payments.rewind' })
    t.match(await one.chain.chainCursor(CHAIN), { ...block(5), secondNo: 5, secondTo: block(5), sweepNo: 5 })
    t.match(await one.actions.page({ operation: 'payments.rewind', limit: 1 }), [
      { before: { block: 21 }, after: { block: 5 } },
    ])
  })

  check('amounts are exact however large', async (t, one) => {
    const { account } = await fund(one, 'a', 0)
    const huge = 10n ** 12n * WEI + 1n
    const largest = 2n ** 256n - 1n
    await one.chain.addTransfers(CHAIN, [transfer(account.id, huge), transfer(account.id, largest)])
    t.same(
      (await one.chain.transferOrders({ limit: 9, afterSeq: 0 })).map(({ value }) => value),
      [huge, largest],
    )
    const to = transfer(account.id, 1n).to
    const sweep = { ...transfer(account.id, huge, { from: to }), to: '0x9' }
    await one.chain.beginChain(CHAIN, block(0), 0)
    for (let i = 0; i < 2; i++) await one.chain.recordSweeps(CHAIN, 5, [sweep])
    t.same(await one.chain.addressSums(CHAIN, to, 5), { received: huge + largest, sweeps: huge })
    t.same(await one.chain.addressSums(CHAIN, to, 0), { received: 0n, sweeps: 0n })
    await one.chain.setSeen(CHAIN, [{ ...sweep, accountId: account.id }])
    t.match(await one.chain.seen(CHAIN, account.id), [{ value: huge }])
    await one.chain.setSeen(CHAIN, [])
    t.same(await one.chain.seen(CHAIN, account.id), [])
  })

  check('transfers are credited together, each once, from any number of gateways', async (t, one, two) => {
    const { account } = await fund(one, 'a', 0)
    await rate(one, 1)
    await confirmed(one, [transfer(account.id, 3999n * 10n ** 16n)])
    t.same(await creditTransfers(one, CHAIN, account.id, MINIMUM, ACT), { credited: [], tooLarge: [], conflicts: [] })
    await confirmed(
      one,
      Array.from({ length: 250 }, () => transfer(account.id, 10n ** 16n)),
    )
    t.same(await one.chain.waitingAccounts(CHAIN), [account.id])
    const all = async (store: Store) => {
      let sum = 0
      for (;;) {
        const { credited } = await creditTransfers(store, CHAIN, account.id, MINIMUM, ACT)
        if (credited.length === 0) return sum
        sum += credited.length
      }
    }
    const [a, b, c] = await Promise.all([all(one), all(two), all(two)])
    t.equal(a + b + c, 251)
    t.equal(await balanceOf(two, account.id), 39_990_000 + 250 * 10_000)
    t.same(await one.chain.waitingAccounts(CHAIN), [])
    t.match(await one.audit(), { ok: true, byHand: 0 })
  })

  check('what cannot be booked waits for a person, and the rest is credited', async (t, one) => {
    const { account } = await fund(one, 'a', 0)
    const { account: thief } = await fund(one, 'b', 0)
    await rate(one, 7)
    const [dust, large, taken, fine] = [
      transfer(account.id, 1n),
      transfer(account.id, 10n ** 12n * WEI),
      transfer(account.id, 10n * WEI),
      transfer(account.id, 20n * WEI),
    ]
    const entry = {
      kind: 'payment',
      amount: micro(1),
      reference: `bsc:${CHAIN}:${taken.tx}:${taken.logIndex}`,
    } as const
    await one.entries.add(thief.id, { ...entry, actor: 'x', note: '' }, ACT)
    await confirmed(one, [dust, large, taken, fine])
    for (let i = 0; i < 2; i++) {
      const { tooLarge, conflicts } = await creditTransfers(one, CHAIN, account.id, MINIMUM, ACT)
      t.same(
        tooLarge.map(({ tx }) => tx),
        [large.tx],
      )
      t.same(conflicts, [idOfText('T', entry.reference)])
    }
    t.same(
      (await one.chain.transferOrders({ accountId: account.id, afterSeq: 0, limit: 9 })).map(({ state, credited }) => [
        state,
        credited,
      ]),
      [
        ['credited', 0],
        ['paid', 0],
        ['paid', 0],
        ['credited', 140_000_000],
      ],
    )
    t.equal(await balanceOf(one, account.id), 140_000_000)
    const stolen = { ok: false, imbalance: 2, broken: [thief.id], unfit: [entry.reference] }
    t.match(await one.audit(), stolen, 'the payment of no transfer shows')
  })

  check('an account makes so many quotes in an hour of the chain, on however many gateways', async (t, one, two) => {
    const [{ account }, { account: other }] = [await fund(one, 'a', 0), await fund(one, 'b', 0)]
    const make = (store: Store, accountId: number, fromMs: number) =>
      store.chain.makeQuote({ accountId, amount: micro(1), wei: 1n, rate: CNY, fromMs, untilMs: fromMs + 1 }, 3, ACT)
    const made = await Promise.all(Array.from({ length: 8 }, (_, i) => make(i % 2 ? one : two, account.id, i + 1)))
    t.equal(made.filter(quote => quote !== null).length, 3)
    t.not(await make(one, other.id, 9), null, 'others make their own')
    t.equal(await make(one, account.id, HOUR_MS), null)
    t.not(await make(two, account.id, HOUR_MS + 10), null, 'an hour later')
    t.equal((await one.actions.page({ operation: ACT.operation, limit: 99 })).length, 5)
  })

  check('a transfer has the rate of its time, or the next one, or that of its quote', async (t, one) => {
    const { account } = await fund(one, 'a', 0)
    const now = Date.now()
    await one.chain.addTransfers(CHAIN, [transfer(account.id, WEI)])
    t.equal(await one.chain.fixRates(), 0)
    await new Promise(resolve => setTimeout(resolve, 20))
    await rate(one, 9, Date.now() + HOUR_MS)
    t.equal(await one.chain.fixRates(), 0, 'it has not begun')
    await rate(one, 8, Date.now())
    await new Promise(resolve => setTimeout(resolve, 20))
    t.equal(await one.chain.fixRates(), 1)
    const quote = { accountId: account.id, amount: micro(1), wei: 2n * WEI, rate: 5 * CNY }
    await one.chain.makeQuote({ ...quote, fromMs: 1_000, untilMs: 5_000 }, 9, ACT)
    const second = await one.chain.makeQuote({ ...quote, rate: 6 * CNY, fromMs: 2_000, untilMs: 6_000 }, 9, ACT)
    t.match(await one.chain.quote(account.id), { id: second?.id, used: false })
    const at = (blockAtMs: number) => transfer(account.id, 3n * WEI, { blockAtMs })
    await one.chain.addTransfers(CHAIN, [at(999), at(1_999), at(2_000), at(5_999)])
    t.same(
      (await one.chain.transferOrders({ afterSeq: 0, limit: 9 })).map(d => [d.quoted / WEI, d.quotedRate, d.rate]),
      [
        [0n, null, 8 * CNY],
        [0n, null, 8 * CNY],
        [2n, 5 * CNY, 8 * CNY],
        [2n, 6 * CNY, 8 * CNY],
        [0n, null, 8 * CNY],
      ],
    )
    t.ok(
      (await one.chain.transferOrders({ afterSeq: 0, limit: 9 })).every(
        ({ createdAtMs }) => Math.abs(createdAtMs - now) < HOUR_MS,
      ),
    )
  })
  /** An account with one credited transfer of 100 tokens at 7 CNY. */
  const credited = async (store: Store) => {
    const { account } = await fund(store, 'a', 0)
    await rate(store, 7)
    await confirmed(store, [transfer(account.id, 100n * WEI)])
    const { credited } = await creditTransfers(store, CHAIN, account.id, MINIMUM, ACT)
    return { account, transfer: credited[0]! }
  }
  const back = (orderId: string, cny: number, change: object = {}): NewRefund => {
    const receiver = `0x${'9'.repeat(40)}`
    const about = { method: 'usdt', kind: 'refund', orderId, reason: 'asked for', providerId: null } as const
    return { id: `R${++count}`, ...about, amount: micro(cny * CNY), receiver, ...change }
  }
  const freeze = (store: Store, refund: NewRefund, forced: boolean) => store.pay.freeze(refund, forced, null, ACT)
  const END: Act = { ...ACT, operation: 'payments.refund_end' }

  check('tokens go back once, never more than were credited, and by one transaction', async (t, one, two) => {
    const { account, transfer: paid } = await credited(one)
    const first = back(paid.id, 300)
    const race = await Promise.all([one, two, two].map(store => freeze(store, first, false)))
    t.same(race.map(({ outcome }) => outcome).toSorted(), ['frozen', 'same', 'same'])
    t.match(race[0], { refund: { state: 'frozen', asked: 428_571, tx: null } }, 'rounded down to four places')
    t.equal(await balanceOf(two, account.id), 400 * CNY, 'it is out of the balance before anything is sent')
    t.equal(await one.pay.refundable(paid.id), 400 * CNY)
    t.match(await one.pay.order(paid.id), { frozen: 300 * CNY, refunded: 0 })
    for (const [refund, outcome] of [
      [{ ...first, amount: micro(1) }, 'conflict'],
      [{ ...first, receiver: paid.to }, 'conflict'],
      [back(paid.id, 400.000001), 'bound'],
      [back('T0', 1), 'bound'],
      [back(paid.id, 0.0001), 'dust'],
    ] as const)
      t.match(await freeze(one, refund, true), { outcome })
    const own = await one.chain.issueAddress(
      { chainId: CHAIN, wallet: 'w', accountId: account.id, fromBlock: 0 },
      () => `0x${'7'.repeat(40)}`,
      ACT,
    )
    t.match(await freeze(one, back(paid.id, 1, { receiver: own.address }), false), { outcome: 'own' })
    const debit = { kind: 'adjustment', amount: micro(-350 * CNY), reference: 'spent', actor: 'x', note: '' } as const
    await one.entries.add(account.id, debit, ACT)
    t.match(await freeze(one, back(paid.id, 51), false), { outcome: 'short', refundable: 50 * CNY })
    const second = back(paid.id, 400)
    t.match(await freeze(one, second, true), { outcome: 'frozen' })
    t.equal(await balanceOf(one, account.id), -350 * CNY)
    t.match(await one.audit(), { ok: true })
    t.same(
      (await two.pay.refundsToSend(9)).map(({ id }) => id),
      [first.id, second.id],
    )

    const tx = hash('sent')
    const ended = await Promise.all([one, two].map(store => store.pay.endByHand('usdt', first.id, { tx }, END)))
    t.match(ended, [
      { state: 'done', tx },
      { state: 'done', tx },
    ])
    await t.rejects(one.pay.endByHand('usdt', second.id, { tx }, END), { name: 'StoreConflict' })
    t.match(await one.pay.refund('usdt', second.id), { state: 'frozen' })
    t.match(await one.pay.endByHand('usdt', second.id, { reason: 'another way' }, END), {
      state: 'released',
      ending: 'another way',
    })
    t.match(await one.pay.endByHand('usdt', second.id, { tx: hash('b') }, END), { state: 'released', tx: null })
    t.equal(await one.pay.endByHand('usdt', 'R0', { tx }, END), null)
    t.match(await one.pay.order(paid.id), { frozen: 0, refunded: 300 * CNY })
    t.equal(await balanceOf(one, account.id), 50 * CNY)
    t.match(await one.audit(), { ok: true, proven: 700 * CNY, byHand: -350 * CNY })
    const { entries } = await one.entries.page(account.id, { fromMs: 0, toMs: Date.now() + HOUR_MS, limit: 99 })
    t.match(
      entries.map(({ kind, amount, reference }) => [kind, amount / CNY, reference]),
      [
        ['release', 400, `release:usdt:${second.id}`],
        ['refund', -300, `refund:usdt:${first.id}`],
        ['release', 300, `release:usdt:${first.id}`],
        ['freeze', -400, `freeze:usdt:${second.id}`],
        ['adjustment', -350],
        ['freeze', -300, `freeze:usdt:${first.id}`],
        ['payment', 700, paid.reference],
      ],
    )
    t.match(entries[1], { note: `asked for (${tx})` })
    t.equal((await one.actions.page({ operation: 'payments.refund_end', limit: 99 })).length, 3, 'each entry is logged')
  })

  check('the audit finds refunds of tokens that do not add up', async (t, one, two, driver) => {
    const { account, transfer: paid } = await credited(one)
    const refund = back(paid.id, 300)
    await freeze(one, refund, false)
    await one.pay.endByHand('usdt', refund.id, { tx: hash('sent') }, END)
    t.match(await two.audit(), { ok: true })
    for (const [broken, mended] of [
      ["state = 'released'", "state = 'done'"],
      ['amount = amount + 1', 'amount = amount - 1'],
      ['amount = 701000000', 'amount = 300000000'],
      ['tx = NULL', `tx = '${hash('sent')}'`],
      ['asked = asked + 2', 'asked = asked - 2'],
      ['receiver = NULL', `receiver = '${refund.receiver}'`],
    ] as const) {
      await driver.run('t', `UPDATE pay_refunds SET ${broken}`, [])
      t.match(await one.audit(), { ok: false, broken: [account.id] }, broken)
      await driver.run('t', `UPDATE pay_refunds SET ${mended}`, [])
      t.match(await one.audit(), { ok: true }, mended)
    }
  })

  check('what people decide about transfers is logged, and told apart', async (t, one, two) => {
    const { account } = await fund(one, 'a', 0)
    await rate(one, 7)
    await confirmed(one, [transfer(account.id, WEI), transfer(account.id, 10n ** 12n * WEI)])
    const [small, large] = (await one.chain.transferOrders({ afterSeq: 0, limit: 9 })) as [TransferOrder, TransferOrder]
    t.same(
      (await creditTransfers(one, CHAIN, account.id, MINIMUM, ACT)).tooLarge.map(({ id }) => id),
      [large.id],
    )
    const release: Act = { ...ACT, operation: 'payments.release' }
    const freed = (store: Store, id: string) => store.pay.releaseOrder(id, Date.now(), 'the payer left', release)
    t.same((await Promise.all([freed(one, small.id), freed(two, small.id)])).toSorted(), [false, true])
    await creditTransfers(one, CHAIN, account.id, MINIMUM, ACT)
    t.match(await one.chain.transferOrders({ afterSeq: 0, limit: 9 }), [
      { state: 'credited', credited: 7 * CNY },
      { state: 'paid', credited: 0, amount: Number.MAX_SAFE_INTEGER },
    ])
    t.match(await one.actions.page({ operation: 'payments.release', limit: 9 }), [
      { after: { reason: 'the payer left' } },
    ])
    t.match(await one.audit(), { ok: true, proven: 7 * CNY, byHand: 0 }, 'a second node has proven it')

    await confirmed(one, [transfer(account.id, 2n * 10n ** 8n * WEI)])
    const tooLarge = (await creditTransfers(one, CHAIN, account.id, MINIMUM, ACT)).tooLarge.at(-1)!
    await freed(one, tooLarge.id)
    const amount = tooLarge.amount
    const both = await Promise.all([one, two].map(store => store.pay.creditOrder(tooLarge.id, amount, '', ACT)))
    t.same(both.map(({ outcome }) => outcome).toSorted(), ['credited', 'known'])
    t.equal(await balanceOf(one, account.id), (14 * 10 ** 8 + 7) * CNY)
    t.match(await one.audit(), { ok: true, proven: (14 * 10 ** 8 + 7) * CNY, byHand: 0 })
  })

  check('a transaction that counts in another block is known as such', async (t, one) => {
    const { account, transfer: paid } = await credited(one)
    const elsewhere = { ...paid, logIndex: paid.logIndex + 1, block: { no: 9, hash: hash('elsewhere') } }
    await one.chain.addTransfers(CHAIN, [elsewhere])
    const [doubted] = await one.chain.transferOrders({ state: 'failed', limit: 9 })
    t.equal(await one.chain.countsElsewhere(doubted!.id), true)
    t.equal(await one.chain.countsElsewhere(paid.id), false)
    t.same(await one.chain.unconfirmed(CHAIN, 9), [], 'nobody is asked about it')
    const hand = { ...proofOfTransfer(doubted!), source: 'operator', actor: 'x', note: 'x' } as const
    t.equal(await one.pay.proveOrder(hand), 'paid', 'a person may decide so all the same')
    t.match(await one.pay.order(doubted!.id), { state: 'paid', late: true, heldUntilMs: null })
    t.equal(await balanceOf(one, account.id), 700 * CNY)
    t.match(await one.pay.proveOrder(proofOfTransfer(paid)), 'known')
  })
  check('thousands of the smallest amounts are summed without being read', async (t, one, _, driver) => {
    const { account } = await fund(one, 'a', 0)
    await rate(one, 1)
    const dust = Array.from({ length: 50 }, () => transfer(account.id, 10n ** 12n))
    await confirmed(one, dust)
    const values = (value: string) => driver.run('t', `UPDATE pay_orders SET tokens = ${value}`, [])
    await values("'nobody reads it'")
    t.same(await creditTransfers(one, CHAIN, account.id, MINIMUM, ACT), { credited: [], tooLarge: [], conflicts: [] })
    await values("'1000000000000'")
    const half = 10n ** 12n / 2n
    await confirmed(one, [transfer(account.id, 40n * WEI - 51n * 10n ** 12n + half)])
    t.same((await creditTransfers(one, CHAIN, account.id, MINIMUM, ACT)).credited, [], 'half a millionth is missing')
    await confirmed(one, [transfer(account.id, half - 1n)])
    t.same((await creditTransfers(one, CHAIN, account.id, MINIMUM, ACT)).credited, [], 'a wei is missing')
    await confirmed(one, [transfer(account.id, 10n ** 12n + 1n)])
    t.equal((await creditTransfers(one, CHAIN, account.id, MINIMUM, ACT)).credited.length, 53)
  })

  check('dust takes no quote away, and few quotes are kept', async (t, one, _, driver) => {
    const { account } = await fund(one, 'a', 0)
    await rate(one, 8)
    const quote = {
      accountId: account.id,
      amount: micro(1),
      wei: 10n * WEI,
      rate: 5 * CNY,
      fromMs: 1_000,
      untilMs: 5_000,
    }
    await one.chain.makeQuote(quote, 1_000, ACT)
    const at = (value: bigint) => transfer(account.id, value, { blockAtMs: 2_000 })
    await one.chain.addTransfers(CHAIN, [at(1n), at(5n * WEI - 1n), at(5n * WEI), at(10n * WEI)])
    t.same(
      (await one.chain.transferOrders({ afterSeq: 0, limit: 9 })).map(({ quotedRate }) => quotedRate),
      [null, null, 5 * CNY, null],
    )
    for (let i = 0; i < 105; i++) await one.chain.makeQuote(quote, 1_000, ACT)
    const [row] = await driver.query('t', 'SELECT COUNT(*) AS n FROM chain_quotes', [])
    t.equal(Number(row!['n']), 100)
    t.match(await one.chain.quote(account.id), { used: false }, 'the newest is there')
  })

  check('a transaction that was read in two blocks counts once among the balances', async (t, one) => {
    const { transfer: paid } = await credited(one)
    const elsewhere = { ...paid, logIndex: paid.logIndex + 1, block: { no: 9, hash: hash('elsewhere') } }
    await one.chain.addTransfers(CHAIN, [elsewhere, transfer(paid.accountId, WEI)])
    t.same(await one.chain.addressSums(CHAIN, paid.to, 9), { received: 101n * WEI, sweeps: 0n })
  })
}
