"""Who a party is: keys and signatures, X.509 certificates, a small authority, and until when they hold."""
