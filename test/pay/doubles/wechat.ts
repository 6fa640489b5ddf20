/** The simulated WeChat Pay of tests: a client library that other people wrote checks and makes its signatures. */
import { Aes, Formatter, Rsa } from 'wechatpay-axios-plugin'
import { Wechat, type WechatCrypto } from '../../../tools/simulator/pay/wechat.ts'

export {
  type Fault,
  FORGERIES,
  type Forgery,
  type How,
  type Json,
  type TradeState,
  type WechatRefund,
  type WechatTrade,
} from '../../../tools/simulator/pay/wechat.ts'

const LIBRARY: WechatCrypto = {
  verify: (text, signature, publicKey) => Rsa.verify(text, signature, publicKey),
  sign: (text, privateKey) => Rsa.sign(text, privateKey),
  encrypt: (text, key, nonce, extra) => Aes.AesGcm.encrypt(text, key, nonce, extra),
  nonce: length => Formatter.nonce(length),
}

export class WechatDouble extends Wechat {
  static async open(t: { teardown(fn: () => unknown): void }, now: () => number = Date.now): Promise<WechatDouble> {
    const double = new WechatDouble({ now, crypto: LIBRARY })
    await double.listen(t)
    return double
  }
}
