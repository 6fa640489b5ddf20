/** The page Top up with each provider in the language that `topup.test.ts` leaves out. */
import t from 'tap'
import { ownerTopsUp, whatBecame } from './support/topups.ts'

ownerTopsUp(t, 'alipay', 'en-US')
ownerTopsUp(t, 'wechat', 'zh-CN')
ownerTopsUp(t, 'card', 'en-US')
whatBecame(t, 'zh-CN')
