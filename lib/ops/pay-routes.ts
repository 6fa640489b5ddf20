/** The calls of the admin API about payments: orders, deposits, refunds, and what waits for a person. */
import { CSV_TYPE } from '../operations/usage/own-export.ts'
import { read } from '../operations/read.ts'
import * as usdt from '../pay/deposits.ts'
import * as pay from '../pay/admin.ts'
import * as kind from '../config/scalars.ts'
import { created, ok, streamed } from './answer.ts'
import { once, parameters, type Route, route } from './route.ts'

const ordersQuery = pay.ordersFilter.extend({ account: kind.name.optional() })
const depositsQuery = usdt.depositsFilter.extend({ account: kind.name.optional() })

export function payRoutes(deps: pay.PaymentsAdminDeps): Route[] {
  const payments = new pay.PaymentsAdmin(deps)
  const deposits = new usdt.Deposits(deps)
  /** undefined = none was named, null = there is none of this name. */
  const named = async (account: string | undefined) =>
    account === undefined ? account : deps.store.accountByName(account)
  return [
    route('GET /admin/payments', async () => ok(await payments.health())),
    route('GET /admin/orders', async (_, query) => {
      const { account, ...filter } = read(ordersQuery, parameters(query))
      return ok(await payments.orders(filter, await named(account)))
    }),
    route('GET /admin/orders/{id}', async ({ id }) => ok(await payments.order(id!))),
    route('POST /admin/orders/{id}/refunds', async ({ id }, _, body, actor) =>
      once(await payments.refund(id!, read(pay.refundForm, body), actor)),
    ),
    route('POST /admin/orders/{id}/release', async ({ id }, _, body, actor) =>
      ok(await payments.release(id!, read(pay.releaseForm, body), actor)),
    ),
    route('GET /admin/exceptions', async (_, query) =>
      ok(await payments.exceptions(read(pay.exceptionsFilter, parameters(query)))),
    ),
    route('POST /admin/exceptions/{id}/resolution', async ({ id }, _, body, actor) =>
      ok(await payments.resolve(id!, read(pay.resolution, body), actor)),
    ),
    route('GET /admin/rates', async () => ok(await payments.rates())),
    route('POST /admin/rates', async (_, __, body, actor) =>
      created(await payments.setRate(read(pay.rateForm, body), actor)),
    ),
    route('GET /admin/deposits', async (_, query) => {
      const { account, ...filter } = read(depositsQuery, parameters(query))
      return ok(await deposits.list(filter, await named(account)))
    }),
    route('GET /admin/deposits/refunds', async () => ok(await deposits.toSend())),
    route('GET /admin/deposits/addresses.csv', async () => streamed(CSV_TYPE, await deposits.sweepList())),
    route('POST /admin/deposits/rewind', async (_, __, body, actor) =>
      ok(await deposits.rewind(read(usdt.rewindForm, body), actor)),
    ),
    route('GET /admin/deposits/{id}', async ({ id }) => ok(await deposits.one(id!))),
    route('POST /admin/deposits/{id}/resolution', async ({ id }, _, body, actor) => {
      const { action, reason } = read(pay.resolution, body)
      return ok(await deposits.resolve(id!, action, reason, actor))
    }),
    route('POST /admin/deposits/{id}/refunds', async ({ id }, _, body, actor) =>
      once(await deposits.sendBack(id!, read(usdt.sendBackForm, body), actor)),
    ),
    route('POST /admin/deposits/refunds/{id}/end', async ({ id }, _, body, actor) =>
      ok(await deposits.endSendBack(id!, read(usdt.sentForm, body), actor)),
    ),
    route('POST /admin/accounts/{name}/deposits/release', async ({ name }, _, body, actor) =>
      ok(await deposits.release(await deps.store.accountByName(name!), read(pay.releaseForm, body), actor)),
    ),
  ]
}
