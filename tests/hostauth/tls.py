# SPDX-License-Identifier: BSD-2-Clause
"""A binding of its own to OpenSSL's libssl, by ctypes: TLS between two memory BIOs."""
import ctypes
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int, c_long, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p

ssl = ctypes.CDLL('libssl.so.3')
crypto = ctypes.CDLL('libcrypto.so.3')

TLS_1_2, TLS_1_3 = 0x303, 0x304
MIN_VERSION, MAX_VERSION = 123, 124
PEM, PEER, MUST = 1, 1, 2
MIDDLEBOX_COMPAT, NO_TICKET = 1 << 20, 1 << 14
WANT_READ = 2
ALPN = b'\x13rpcrdma2-hostauth-1'

# Shared keys: what a client shows, and what a server finds. Both return how long the key is.
SHOW = CFUNCTYPE(c_uint, c_void_p, c_char_p, POINTER(c_ubyte), c_uint, POINTER(c_ubyte), c_uint)
FIND = CFUNCTYPE(c_uint, c_void_p, c_char_p, POINTER(c_ubyte), c_uint)
SELECT = CFUNCTYPE(c_int, c_void_p, POINTER(c_void_p), POINTER(c_ubyte), POINTER(c_ubyte), c_uint, c_void_p)

for name in ('TLS_client_method', 'TLS_server_method', 'SSL_CTX_new', 'SSL_new', 'SSL_get1_peer_certificate'):
    getattr(ssl, name).restype = c_void_p
for name in ('BIO_new', 'BIO_s_mem', 'ERR_reason_error_string'):
    getattr(crypto, name).restype = c_void_p
crypto.ERR_peek_last_error.restype = ctypes.c_ulong
crypto.X509_verify_cert_error_string.restype = c_char_p
ssl.SSL_get_verify_result.restype = c_long
ssl.SSL_CTX_ctrl.argtypes = [c_void_p, c_int, c_long, c_void_p]
ssl.SSL_CTX_set_options.argtypes = ssl.SSL_CTX_clear_options.argtypes = [c_void_p, c_uint64]


class Failed(Exception):
    """TLS failed, here or there."""


def _good(ok):
    if ok != 1:
        raise Failed(_why())


def _why():
    text = crypto.ERR_reason_error_string(ctypes.c_ulong(crypto.ERR_peek_last_error()))
    return ctypes.cast(text, c_char_p).value.decode() if text else 'no reason'


def _choose(out, out_len, offered, n, otherwise):
    octets = bytes(offered[:n])
    at = 0
    while at < n:
        if octets[at:at + len(ALPN)] == ALPN:
            out[0] = ctypes.addressof(offered.contents) + at + 1
            out_len[0] = octets[at]
            return 0
        at += octets[at] + 1
    return otherwise


@SELECT
def _select(_ssl, out, out_len, offered, n, _arg):
    """RFC 7301: one name, or no connection."""
    return _choose(out, out_len, offered, n, 2)


@SELECT
def _prefer(_ssl, out, out_len, offered, n, _arg):
    """Or any."""
    return _choose(out, out_len, offered, n, 3)


def _put(octets, to, room):
    if len(octets) > room:
        return 0
    ctypes.memmove(to, octets, len(octets))
    return len(octets)


def shared_key(path):
    """identity, key: of the first line of a file of them."""
    with open(path, encoding='ascii') as lines:
        identity, key = next(line for line in lines if line.strip() and line[0] != '#').strip().split(':')
    return identity.encode(), bytes.fromhex(key)


class Tls:
    """One end, with certificates or with a shared key (@psk: identity, key). What it has to say comes out of
    step(). @purpose: it offers, or wants, the application
    protocol."""

    def __init__(self, client, certificate=None, key=None, ca=None, psk=None, version=TLS_1_3, oldest=None, purpose=True):
        self.psk = psk
        method = ssl.TLS_client_method() if client else ssl.TLS_server_method()
        self.ctx = c_void_p(ssl.SSL_CTX_new(c_void_p(method)))
        ssl.SSL_CTX_ctrl(self.ctx, MIN_VERSION, oldest or version, None)
        ssl.SSL_CTX_ctrl(self.ctx, MAX_VERSION, version, None)
        ssl.SSL_CTX_clear_options(self.ctx, MIDDLEBOX_COMPAT)
        ssl.SSL_CTX_set_options(self.ctx, NO_TICKET)
        ssl.SSL_CTX_set_num_tickets(self.ctx, c_size_t(0))
        if not client:
            ssl.SSL_CTX_set_alpn_select_cb(self.ctx, _select if purpose else _prefer, None)
        elif purpose:
            ssl.SSL_CTX_set_alpn_protos(self.ctx, ALPN, c_uint(len(ALPN)))
        if certificate:
            _good(ssl.SSL_CTX_use_certificate_chain_file(self.ctx, certificate.encode()))
            _good(ssl.SSL_CTX_use_PrivateKey_file(self.ctx, key.encode(), PEM))
        if ca:
            _good(ssl.SSL_CTX_load_verify_locations(self.ctx, ca.encode(), None))
            ssl.SSL_CTX_set_verify(self.ctx, PEER | MUST, None)
        if psk:
            self.use_psk(client)
        self.ssl = c_void_p(ssl.SSL_new(self.ctx))
        self.inward = c_void_p(crypto.BIO_new(c_void_p(crypto.BIO_s_mem())))
        self.outward = c_void_p(crypto.BIO_new(c_void_p(crypto.BIO_s_mem())))
        crypto.BIO_ctrl(self.inward, 130, c_long(-1), None)  # empty is no end
        ssl.SSL_set_bio(self.ssl, self.inward, self.outward)
        (ssl.SSL_set_connect_state if client else ssl.SSL_set_accept_state)(self.ssl)
        self.complete = False

    def use_psk(self, client):
        """The callbacks live as long as this."""
        identity, key = self.psk

        @SHOW
        def show(_ssl, _hint, name, name_room, to, room):
            return _put(key, to, room) if _put(identity + b'\0', name, name_room) else 0

        @FIND
        def find(_ssl, name, to, room):
            return _put(key, to, room) if name == identity else 0

        self.callback = show if client else find
        set_it = ssl.SSL_CTX_set_psk_client_callback if client else ssl.SSL_CTX_set_psk_server_callback
        set_it(self.ctx, self.callback)
        _good(ssl.SSL_CTX_set_ciphersuites(self.ctx, b'TLS_AES_128_GCM_SHA256'))

    def close(self):
        ssl.SSL_free(self.ssl)
        ssl.SSL_CTX_free(self.ctx)

    def feed(self, octets):
        if octets:
            crypto.BIO_write(self.inward, octets, len(octets))

    def said(self):
        """What is to be sent."""
        room = ctypes.create_string_buffer(65536)
        n = crypto.BIO_read(self.outward, room, len(room))
        return room.raw[:n] if n > 0 else b''

    def step(self):
        crypto.ERR_clear_error()
        done = ssl.SSL_do_handshake(self.ssl)
        if done == 1:
            self.complete = True
        elif ssl.SSL_get_error(self.ssl, done) != WANT_READ:
            verdict = ssl.SSL_get_verify_result(self.ssl)
            raise Failed(crypto.X509_verify_cert_error_string(c_long(verdict)).decode() if verdict else _why())
        return self.said()

    def alert(self):
        """Words for the alert that was fed."""
        crypto.ERR_clear_error()
        ssl.SSL_read(self.ssl, ctypes.create_string_buffer(1), 1)
        return _why()

    def export(self, label, n=32):
        out = ctypes.create_string_buffer(n)
        _good(ssl.SSL_export_keying_material(self.ssl, out, c_size_t(n), label, c_size_t(len(label)), None,
                                             c_size_t(0), 0))
        return out.raw

    def peer_is(self, name):
        """RFC 6125: the certificate is for @name; or that is the key's identity, and the key was used."""
        if self.psk:
            return ssl.SSL_session_reused(self.ssl) == 1 and name.encode() == self.psk[0]
        cert = c_void_p(ssl.SSL_get1_peer_certificate(self.ssl))
        matches = crypto.X509_check_host(cert, name.encode(), c_size_t(len(name)), c_uint(0x20), None) == 1
        crypto.X509_free(cert)
        return matches
