/**
 * The operation that audits the books: do credits, charges and balances agree for every account? What does not agree is told with the
 * account, the equation, both sides, and what mends it. It also counts charges that were set aside in the journal folder, because
 * the gateway could not book them and a person has to decide. Money is shown in CNY as a decimal.
 */
import { formatMicro, subtract } from '../../base/money.ts'
import type { AuditEquation, AuditFinding } from '../../store/audit.ts'
import type { OperationDeps } from '../deps.ts'
import { namesOfAccounts } from '../lookups.ts'

type AuditDeps = Pick<OperationDeps, 'store' | 'setAside'> & { fleet: Pick<OperationDeps['fleet'], 'settled'> }

const REBUILD = 'gateway rollups rebuild'
const byRestore = (look: string): string =>
  `no command: it was written by another way than this program. Look at \`${look}\`, and restore the latest copy of the store that balances`

/** What each equation says, and the command that mends it. `NAME` stands for the account. */
const WORDS: Record<AuditEquation, { says: string; mend: string }> = {
  entries: {
    says: 'the entries of the account are the credit of its purse',
    mend: byRestore('gateway accounts entries NAME'),
  },
  charges: {
    says: 'the rows of usage, and the charges of deleted ones, are what its purse has spent',
    mend: byRestore('gateway usage --account NAME --by day'),
  },
  keys: {
    says: 'what its purse has spent is what the purses of its keys have spent',
    mend: byRestore('gateway keys list --account NAME'),
  },
  sums_by_hour: { says: 'the rows of usage are the sums by hour', mend: REBUILD },
  sums_by_day: { says: 'the rows of usage are the sums by day', mend: REBUILD },
  sums_by_key_day: { says: 'the rows of usage are the sums by day of its keys', mend: REBUILD },
  sums_by_account_hour: { says: 'the rows of usage are the sums by hour of the account', mend: REBUILD },
  sums_by_account_day: { says: 'the rows of usage are the sums by day of the account', mend: REBUILD },
  sums_by_day_of_all: { says: 'the sums by day of all accounts are those of all together', mend: REBUILD },
  charged_hours: {
    says: 'the rows of usage are the charges by hour of booking, from which statements are made',
    mend: byRestore('gateway statement NAME --month MONTH'),
  },
  leases_below_zero: {
    says: 'no lease is below zero',
    mend: 'restart the gateways one after the other: a lease is given back when its process ends',
  },
  leases_of_nobody: {
    says: 'every lease with money belongs to a registered process',
    mend: byRestore('gateway accounts show NAME'),
  },
  limits: {
    says: 'a budget has spent no more than the account, and a cap no more than its key',
    mend: byRestore('gateway keys list --account NAME'),
  },
  payments: {
    says: 'payments are those of its orders, with a proof each',
    mend: 'gateway orders exceptions, and gateway orders show ORDER for each that `unfit` names',
  },
}

const shown = ({ accountId, equation, expected, found }: AuditFinding, name: string | undefined) => {
  const { says, mend } = WORDS[equation]
  const account = accountId === null ? null : (name ?? `#${accountId}`)
  return {
    account,
    equation,
    says,
    expected: formatMicro(expected),
    found: formatMicro(found),
    difference: formatMicro(subtract(found, expected)),
    mend: mend.replaceAll('NAME', account ?? ''),
  }
}

/** `row` is what the caller sees. `balanced` leaves out what was set aside. */
export async function readAudit({ store, fleet, setAside }: AuditDeps) {
  await fleet.settled()
  const { settlements, unreadable } = setAside()
  const aside = settlements + unreadable
  const { ok, broken, unfit, findings, accounts, ...sums } = await store.audit()
  const { credits, byHand, proven, charges, balances, leased, imbalance } = sums
  const names = await namesOfAccounts(
    store,
    findings.flatMap(({ accountId }) => accountId ?? []),
  )
  const row = {
    ok: ok && aside === 0,
    accounts,
    credits: formatMicro(credits),
    charges: formatMicro(charges),
    balances: formatMicro(balances),
    leased: formatMicro(leased),
    imbalance: formatMicro(imbalance),
    by_hand: formatMicro(byHand),
    proven: formatMicro(proven),
    set_aside: aside,
    broken: broken.length,
    unfit,
    findings: findings.map(finding => shown(finding, names.get(finding.accountId as number))),
  }
  return { row, balanced: ok }
}
