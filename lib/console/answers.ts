/** The types of answers and tables that pages know, gathered from the calls that give them: pages import types of the console from here. */
export type { Me } from './api/me.ts'
export type { ShownMethods, ShownOrder, ShownOrders } from './api/orders.ts'
export type { ListedOrder, PayRates, ShownException, ShownRefund, WholeOrder } from './api/pay-answers.ts'
export type { PayHealth } from './api/pay-health.ts'
export type { ShownUsdt } from './api/usdt.ts'
export type { ApiReferenceData } from './model-api.ts'
export type { ClientRow, ImportLink } from './clients.ts'
export type {
  ClientsData,
  ConnectData,
  HomeData,
  RefusalMet,
  ModelData,
  Offered,
  RegisterData,
  SignInData,
} from './page-data.ts'
