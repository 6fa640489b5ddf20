/** The page Top up with USDT in the language that `topup-usdt.test.ts` leaves out. */
import t from 'tap'
import { ownerTopsUpByUsdt } from './support/topups-usdt.ts'

ownerTopsUpByUsdt(t, 'zh-CN')
