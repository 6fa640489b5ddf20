/** `pay doctor`: asks the operator, and prints what is found, a line a step. It works beside a running gateway. */
import { createInterface } from 'node:readline/promises'
import { systemClock } from '../base/clock.ts'
import { formatMicro } from '../base/money.ts'
import { OperationError } from '../operations/error.ts'
import type { PaymentService } from '../pay/service.ts'
import { examine, examineUsdt, type Finding, isCheckout } from '../pay/doctor.ts'
import type { Store } from '../store/store.ts'
import type { Config } from '../config/config.ts'
import type { OrderMethod } from '../terms/pay.ts'
import { COMMAND } from '../base/people.ts'
import type { Account } from '../terms/records.ts'
import { deskOf } from './pay-desk.ts'
import { withStoreOf } from './with-store.ts'

interface DoctorWanted {
  method: string
  account: string
  amount: string | null
  refund: boolean
  waitMs: number
  yes: boolean
}

const KEEP_ALIVE_MS = 60_000

/** False when a step failed. */
export function payDoctor(configFile: string, env: NodeJS.ProcessEnv, wanted: DoctorWanted): Promise<boolean> {
  return withStoreOf(configFile, env, async (store, config) => {
    const { desk } = deskOf(store, config)
    const { method, account: name } = wanted
    const account = await store.accounts.byName(name)
    if (account === null) throw new OperationError('missing', `there is no account ${name}`)
    const absent = new OperationError('missing', `pay.${method}: not in ${configFile}`)
    if (method !== 'usdt') return told(await ofOrder(desk, store, config, account, wanted, absent))
    const usdt = await desk.usdt()
    if (usdt === null) throw absent
    if (wanted.amount !== null || wanted.refund)
      throw new OperationError('invalid', 'usdt: the payer chooses the amount, and refunds are made by hand')
    const act = { actor: COMMAND, operation: 'usdt.address' }
    return told(examineUsdt({ usdt, clock: systemClock, account, waitMs: wanted.waitMs, act }))
  })
}

async function ofOrder(
  desk: PaymentService,
  store: Store,
  config: Config,
  account: Account,
  wanted: DoctorWanted,
  absent: OperationError,
): Promise<AsyncIterable<Finding>> {
  const { method: name, amount, refund, waitMs } = wanted
  const method = (await desk.methods()).get(name as OrderMethod)
  if (!isCheckout(method)) throw absent
  const { main, given } = config.public
  if (!given) console.error(`warning: public.main is not set, so the provider is told to send callbacks to ${main}`)
  const cost = `${amount ?? formatMicro(method.minimum)} CNY of ${method.sandbox ? 'test' : 'real'} money`
  if (!wanted.yes) await confirm(`This makes an order of ${cost} at ${name}, which you then pay. Go on?`)
  const callback = `${main}/pay/${name}`
  const act = { actor: COMMAND, operation: 'orders.create' }
  const examined = { service: desk, store, clock: systemClock, account, method, amount, refund, waitMs, callback }
  return examine({ ...examined, returnTo: `${main}/console/topup`, act })
}

/** Prints each step as it ends. False when one failed. */
async function told(findings: AsyncIterable<Finding>): Promise<boolean> {
  // Timers of the clock keep no process alive.
  const alive = setInterval(() => {}, KEEP_ALIVE_MS)
  let ok = true
  try {
    for await (const finding of findings) {
      ok &&= finding.ok !== false
      await print(finding)
    }
  } finally {
    clearInterval(alive)
  }
  return ok
}

async function confirm(question: string): Promise<void> {
  if (!process.stdin.isTTY) throw new OperationError('invalid', `${question} Say --yes where nobody can be asked.`)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await terminal.question(`${question} [y/N] `)
    if (!/^y(es)?$/i.test(answer.trim())) throw new OperationError('invalid', 'nothing was done')
  } finally {
    terminal.close()
  }
}

async function print({ step, ok, text, check, shown }: Finding): Promise<void> {
  console.log([ok === null ? '-' : ok ? 'ok' : 'FAILED', step, text].join('\t'))
  if (check !== undefined && ok !== true) console.log(`\t\tcheck ${check}`)
  if (shown?.redirect !== undefined) console.log(`\t\topen ${shown.redirect}`)
  if (shown?.qr === undefined) return
  console.log(`\t\tscan ${shown.qr}`)
  if (!process.stdout.isTTY) return
  const { renderUnicodeCompact } = await import('uqr')
  console.log(renderUnicodeCompact(shown.qr))
}
