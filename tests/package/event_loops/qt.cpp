#include <QtCore/QCoreApplication>

#include <tryst/qt.hpp>

#include "meet.hpp"

int main(int argc, char** argv) {
    const QCoreApplication application(argc, argv);
    meeting all;
    tryst::qt::executor executor;
    meet_on(executor, all, [] { QCoreApplication::quit(); });
    QCoreApplication::exec();
    return all.good == 2 ? 0 : 1;
}
