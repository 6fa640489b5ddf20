/** The crediting of transfers over a store in memory, without a chain: what its nodes say is chosen by the test. */
import type { Test } from 'tap'
import { micro } from '../../lib/base/money.ts'
import { Chain, Rpc } from '../../lib/pay/usdt/chain.ts'
import { Crediting, type UsdtDeps } from '../../lib/pay/usdt/crediting.ts'
import { Intake } from '../../lib/pay/intake.ts'
import type { Store } from '../../lib/store/store.ts'
import { ACT, openDesk } from './support.ts'

const CHAIN = 56
const HASH = `0x${'1'.repeat(64)}`
const TOKEN = 10n ** 18n
const HOUR_MS = 3_600_000

class SayingNode extends Chain {
  said: 'same' | 'other' | 'unknown' = 'same'

  constructor(node: number) {
    super(new Rpc('http://127.0.0.1:9', node, () => {}), { chainId: CHAIN, contract: HASH })
  }
  override async prove() {}
  override async confirms() {
    return this.said
  }
}

/** `storeOf`: what crediting has in the place of the store. */
export async function openCrediting(t: Test, storeOf: (real: Store) => Store = real => real) {
  const desk = await openDesk(t)
  const { store, account, clock } = desk
  const second = new SayingNode(2)
  const parts = { ...desk.deps, store: storeOf(store) }
  const deps = {
    ...parts,
    intake: new Intake(parts, new Map()),
    config: { chain_id: CHAIN, minimum: micro(1) },
  } as unknown as UsdtDeps
  const crediting = new Crediting(deps, [new SayingNode(1), second])
  return {
    desk,
    second,
    round: () => crediting.round(),
    /** 7 CNY for a token. */
    rate() {
      const [fromMs, untilMs] = [clock.now() - HOUR_MS, clock.now() + HOUR_MS]
      return store.pay.setPayRate({ currency: 'USDT', rate: 7_000_000, fromMs, untilMs }, ACT)
    },
    /** Somebody has paid. */
    pay: (value = TOKEN) =>
      store.chain.addTransfers(CHAIN, [
        {
          tx: HASH,
          logIndex: 0,
          from: `0x${'1'.repeat(40)}`,
          to: `0x${'2'.repeat(40)}`,
          value,
          block: { no: 1, hash: HASH },
          accountId: account.id,
          blockAtMs: 450,
          node: 1,
          sandbox: false,
        },
      ]),
  }
}
