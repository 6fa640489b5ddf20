/** The page Top up with USDT; `topup-usdt.long.ts` has it in the other language. */
import t from 'tap'
import { ownerTopsUpByUsdt } from './support/topups-usdt.ts'

ownerTopsUpByUsdt(t, 'en-US')
